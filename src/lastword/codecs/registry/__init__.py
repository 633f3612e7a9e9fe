"""Values of a schema registry: Avro and JSON Schema in Confluent's wire format.

``Registry`` names the registry and makes codecs: ``Table("users", value=registry.avro())``.
"""

from lastword.codecs.registry.registry import Registry

__all__ = ["Registry"]
