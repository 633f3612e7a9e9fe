"""A table whose partitions are shared by the instances of an application."""
