"""What runs on executors: one partition's part of a batch, from input to commit."""
