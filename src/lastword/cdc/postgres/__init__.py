"""Capturing the changes of a PostgreSQL table: its checks, its connector, its slot."""
