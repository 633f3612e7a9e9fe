"""Tables at rest, as Delta tables: their layout, reading them back, and travelling in time."""
