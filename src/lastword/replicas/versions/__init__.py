"""Past versions of keys, kept beside their rows."""
