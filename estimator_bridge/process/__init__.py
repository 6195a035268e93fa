"""Runs programs in processes that have Estimators."""
