"""Evaluation of checkpoints, during training and by `python -m trainer.evaluate`."""
