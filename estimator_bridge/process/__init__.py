"""Runs programs in processes where Estimators are available."""
