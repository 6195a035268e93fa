"""What the commands have in common: how they start, read arguments, and end."""
