"""How a table writes: plainly, or as the owners of its partitions decide; locks and elections."""
