"""The cell of a host: the brain's state machines on Kafka and Redis."""
