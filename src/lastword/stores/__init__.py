"""Where one partition of a table lives locally: bytes in, bytes out."""
