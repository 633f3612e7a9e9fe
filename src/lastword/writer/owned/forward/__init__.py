"""Requests between instances: sent to the owner of a partition over one hop, decided once."""
