"""Rows whose delete may have been missed: when to look for them, and how."""
