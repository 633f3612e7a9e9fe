"""The contract of logs that a deposed owner can no longer append to."""
