"""The graph of a pipeline, and the topics that it needs."""
