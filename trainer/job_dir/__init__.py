"""What a job directory holds: checkpoints, the metrics log, and the model that they belong to."""
