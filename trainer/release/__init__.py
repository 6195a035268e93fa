"""From an export to a served model: numbered versions, labels, and the verdict of an export."""
