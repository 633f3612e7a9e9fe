"""What runs on the driver: queries, positions, progress and status."""
