"""The captures of databases that feed tables, for operators."""
