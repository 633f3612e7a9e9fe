"""The interface: operations, documents and handlers."""
