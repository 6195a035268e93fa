"""Custom jobs on Vertex AI: packaging, rendering, submitting, and rehearsing here.

Nothing of the trainer imports it: a job does not know who has started it.
"""
