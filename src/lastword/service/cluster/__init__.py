"""The instances that share the partitions of the served tables, for operators."""
