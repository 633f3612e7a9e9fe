"""Which versions of its schema a table holds, and how to rewrite the old ones."""
