"""The table: queries, writes and watching over one compacted topic."""
