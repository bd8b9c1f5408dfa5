"""Hosts as they register themselves."""

from typing import Annotated

import msgspec

from topics.messages.base import Message, Name, TimeMs


class HostRegistration(Message, frozen=True, kw_only=True):
    """A host's start, in its own words. A host that leaves for good deletes its key.

    `boot_id` is new at every start, so that two processes with the same name are told apart.
    `capacity` is relative: a host of capacity 2 does in 1 ms what a host of capacity 1 does in 2 ms.
    `address` is where its pages are, for people; without pages the name of its machine. Nobody connects to it.
    """

    host: Name
    region: Name
    capacity: Annotated[float, msgspec.Meta(gt=0)]
    address: Name
    boot_id: Name
    started_ms: TimeMs
    software: Name | None = None
