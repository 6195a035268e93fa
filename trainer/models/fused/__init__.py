"""The fused engine: canned models with few operations a step."""
