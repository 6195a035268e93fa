"""Files that users provide: limits for untrusted files, text encodings, notebooks."""
