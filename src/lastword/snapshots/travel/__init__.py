"""Reading the past: snapshots, history and the log together."""
