"""Figures of the tables over time, for operators and the dashboard."""
