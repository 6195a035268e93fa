"""Pipelines: a file of steps, each of them a command, and the history of its runs."""
