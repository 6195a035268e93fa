"""Hyperparameter search on this machine: each trial is an ordinary job in a process of its own."""
