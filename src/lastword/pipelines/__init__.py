"""Data pipelines on Spark that feed compacted topics: the only package that imports pyspark."""
