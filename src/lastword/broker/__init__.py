"""The embedded broker: a real Kafka as a child process."""
