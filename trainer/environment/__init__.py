"""The only reader of os.environ: the cluster, services, and variables."""
