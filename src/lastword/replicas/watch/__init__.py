"""Changes for watchers, and whether a watch can resume from a position."""
