"""One training run: the job, its plan, its hooks, and train_and_evaluate."""
