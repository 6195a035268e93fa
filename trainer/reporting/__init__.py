"""What a run leaves for people: metrics.json, the summary, and plots."""
