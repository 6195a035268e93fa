"""Serves an export, or a folder of versions, with TensorFlow Serving's REST and gRPC interfaces."""
