"""Bytes to Python values and back."""
