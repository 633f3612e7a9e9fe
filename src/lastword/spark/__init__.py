"""Spark itself: sessions, jars, class archives and frames of topics."""
