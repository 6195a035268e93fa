"""`python -m trainer.kubernetes`: manifests of a cluster."""
