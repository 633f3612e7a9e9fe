"""A topic copied into another one with more partitions, while it is written."""
