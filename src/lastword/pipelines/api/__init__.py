"""The API for users: streams, groups, windows and folds."""
