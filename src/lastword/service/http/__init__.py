"""Connections, rights and limits: everything before a request reaches its handler."""
