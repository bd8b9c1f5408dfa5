"""How large the parts of a flow may be. A flow beyond these is a mistake, or work for several flows."""

from topics.messages.flows import FLOW_TEXT_LENGTH_MAX

FILE_BYTES_MAX = FLOW_TEXT_LENGTH_MAX
FILE_DEPTH_MAX = 16

SOURCES_MAX = 64
OPERATORS_MAX = 256
SINKS_MAX = 64

NAME_LENGTH_MAX = 48
"""Of a source, operator, route or sink. With a flow's name of 63 every edge topic still fits Kafka's 249 characters."""
FIELD_LENGTH_MAX = 128
FIELDS_MAX = 256
BY_FIELDS_MAX = 16
ROUTES_MAX = 32
UNION_INPUTS_MAX = 32
SETTINGS_MAX = 64
PARK_AFTER_MAX = 1_000_000_000

PARTITIONS_MAX = 4_096
K_MAX = 10_000

DAY_MS = 86_400_000
DURATION_MS_MAX = 400 * DAY_MS
"""A year and a month: longer state belongs in a database."""
PANES_MAX = 10_000
"""Pieces of gcd(hop, size) that a hopping window is put together from. A day in steps of ten seconds has 8,640."""
CHANGED_WINDOWS_MAX = 100
"""Windows that hold one record, size / hop, with `emit: change`: each of them gives an output for every record."""

LATENCY_MS_MAX = DAY_MS
WEIGHT_MAX = 1_000
