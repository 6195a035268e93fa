"""What jobs were made of: read from the files in their folders, compared, and pruned."""
