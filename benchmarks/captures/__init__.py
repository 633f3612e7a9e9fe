"""Captures of a real PostgreSQL: how fast rows are copied, and how soon changes are seen."""
