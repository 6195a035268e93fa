"""The contents of a job directory: checkpoints, metrics log, and the description of the model."""
