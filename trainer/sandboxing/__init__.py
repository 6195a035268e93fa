"""Tests an export in a new process with limits, before a model server loads it."""
