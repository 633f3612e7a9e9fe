"""From a batch of the log to rows and a checkpoint in a store."""
