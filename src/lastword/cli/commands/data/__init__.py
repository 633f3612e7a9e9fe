"""The commands that read and write the records of a table: one file per command."""
