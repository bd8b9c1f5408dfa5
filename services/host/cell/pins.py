"""Pins: the host at which a flow's source or sink stands. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Literal, NamedTuple

Why = Literal["host", "region", "chance", "away"]
"""`at` names this host; it names its region; there is no `at`; or what it names is not live now."""


class Pin(NamedTuple):
    """A host, and why it is this one."""

    host: str
    why: Why


def pin(flow: str, at: str | None, regions: Mapping[str, str]) -> Pin:
    """Where an end of a flow stands. `regions`: the region of each live host, of which there must be one.

    `at` is a host, or a region: then its first host by name. Else the flow's name chooses among all, and chooses the
    same one everywhere and as long as that host lives (rendezvous hashing).
    """
    assert regions, "no live host to pin an end to"
    if at is not None and at in regions:
        return Pin(at, "host")
    if at in regions.values():
        return Pin(min(host for host, region in regions.items() if region == at), "region")
    return Pin(max(sorted(regions), key=lambda host: _draw(flow, host)), "chance" if at is None else "away")


def _draw(flow: str, host: str) -> bytes:
    return hashlib.sha256(f"{flow}@{host}".encode()).digest()
