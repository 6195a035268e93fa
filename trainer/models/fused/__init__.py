"""The fused engine: canned models with fewer operations per step."""
