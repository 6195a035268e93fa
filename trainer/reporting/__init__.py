"""Reports of a run: metrics.json, the summary, and plots."""
