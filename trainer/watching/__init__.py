"""Monitoring of a served model: logged requests, skew, drift, delayed labels, the report."""
