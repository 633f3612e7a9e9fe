"""How a table writes: directly, or through the owners of its partitions; locks and elections."""
