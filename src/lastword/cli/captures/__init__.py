"""Captures of databases on the command line: which there are, starting and watching them."""
