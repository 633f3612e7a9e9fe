"""Values with a schema in a registry: Avro, JSON Schema and Protobuf in Confluent's wire format.

``Registry`` names the registry and makes codecs: ``Table("users", value=registry.avro())``.
"""

from lastword.codecs.registry.registry import Registry

__all__ = ["Registry"]
