"""What a pipeline consists of, and the topics that it needs."""
