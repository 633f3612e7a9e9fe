"""Reading the log of a topic in batches of columns."""
