"""Change data capture: change events of databases, and the connectors that make them."""
