"""What a user writes: streams, groups, windows and folds."""
