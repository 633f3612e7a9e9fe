"""What the service knows of its tables over time, for operators and the dashboard."""
