"""The processes of a cluster: heartbeats, watchdog, strategies, and the local launcher."""
