"""The requests and the handling of answers of each call, without I/O."""
