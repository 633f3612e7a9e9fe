"""Kafka Connect: a worker of this machine with Debezium's plug-in, and a client of any worker."""
