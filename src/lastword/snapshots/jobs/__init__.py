"""The Spark jobs that write snapshots and histories, and read them as frames."""
