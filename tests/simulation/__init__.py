"""A deterministic simulation of storage and cluster; see CONTRIBUTING.md."""
