"""What the benchmarks share: the topic, the contestants, fresh processes for them, the report."""
