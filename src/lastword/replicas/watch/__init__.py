"""Changes for whoever watches, and whether a watch can go on from a position."""
