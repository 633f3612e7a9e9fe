"""Commands below a command, where its own file would be too long."""
