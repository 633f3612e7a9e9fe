"""Create, check, describe and explain compacted topics."""
