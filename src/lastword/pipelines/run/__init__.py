"""The driver's side: queries, positions, progress and status."""
