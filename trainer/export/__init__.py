"""SavedModels: receivers, exporters, checks of exports, and which export is served."""
