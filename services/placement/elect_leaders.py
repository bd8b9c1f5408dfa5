"""The request ElectLeaders (key 43, version 2), in the words of aiokafka's protocol.

Neither client sends it: aiokafka does not know it, and confluent-kafka 2.16 fails before it does (its binding names
fewer arguments than it takes). The other two requests of leadership come from aiokafka.
"""

from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import CompactArray, CompactString, Int8, Int16, Int32, Schema, TaggedFields

PREFERRED = 0
PREFERRED_LEADER_NOT_AVAILABLE = 80
"""It is not in sync, or not there."""
ELECTION_NOT_NEEDED = 84
"""It leads already."""


class ElectLeadersResponse_v2(Response):  # noqa: N801 - as aiokafka names them
    """An error for each partition; 0 for none."""

    API_KEY = 43
    API_VERSION = 2
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        (
            "results",
            CompactArray(
                ("topic", CompactString("utf-8")),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("error_code", Int16),
                        ("error_message", CompactString("utf-8")),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class ElectLeadersRequest_v2(RequestStruct):  # noqa: N801 - as aiokafka names them
    """The first replica of each of these partitions is to lead it."""

    FLEXIBLE_VERSION = True
    API_KEY = 43
    API_VERSION = 2
    RESPONSE_TYPE = ElectLeadersResponse_v2
    SCHEMA = Schema(
        ("election_type", Int8),
        (
            "topics",
            CompactArray(
                ("topic", CompactString("utf-8")),
                ("partitions", CompactArray(Int32)),
                ("tags", TaggedFields),
            ),
        ),
        ("timeout_ms", Int32),
        ("tags", TaggedFields),
    )


class ElectLeadersRequest(Request[ElectLeadersRequest_v2]):
    """Elects the preferred leader of one partition."""

    API_KEY = 43

    def __init__(self, topic: str, partition: int, *, timeout_ms: int) -> None:
        self._topics: list[Any] = [(topic, [partition], {})]
        self._timeout_ms = timeout_ms

    def build(self, request_struct_class: type[ElectLeadersRequest_v2]) -> ElectLeadersRequest_v2:
        """The request as bytes are made of it."""
        return request_struct_class(PREFERRED, self._topics, self._timeout_ms, {})
