"""Custom jobs on Vertex AI: packages, renders, rehearses and submits them."""
