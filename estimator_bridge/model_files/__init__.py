"""Lists, checks and writes the files of checkpoints and SavedModels."""
