"""Follows a log into a store: restore, live, sweep."""
