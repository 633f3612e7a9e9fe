"""The command line; the only reader of environment and TOML."""
