"""A host: one process that runs the segments which the placement registry gives it.

`main` reads the registry and starts a `Segment` for each; a segment is one Faust app of its own (`segment_app`) whose
agent hands fetched blocks of records to its `Task`s. A task owns one partition: it decodes, runs the
compiled operators, writes outputs, changelog and offsets in one Kafka transaction, and can be rebuilt on any host
from what it wrote.
"""
