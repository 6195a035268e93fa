"""SavedModels: serving receivers, exporters, the check of an export, and which one is served."""
