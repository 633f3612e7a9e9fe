"""The command line: one file per command; the only reader of the environment and of TOML."""
