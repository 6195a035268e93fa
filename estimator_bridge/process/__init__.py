"""Runs a program in a process that has Estimators."""
