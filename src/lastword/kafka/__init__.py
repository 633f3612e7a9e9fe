"""The only package that talks to Kafka: connection, log reader, producer, admin."""
