"""Envelopes: ants for the same next host travel together, under one seal.

The seal is an HMAC-SHA256 with the cluster's key over topic, target and contents. Nothing inside is looked at before
the seal has been found good; after that the contents are still checked to the last field.

Scouts of one release carry the same order and much the same ways, so what is not tiny travels deflated.
"""

import hashlib
import hmac
import zlib
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from topics.ants.kinds import ANT, TOPIC_OF, WIRE_VERSION
from topics.ants.shapes import MisshapenError
from topics.codec import UNREADABLE
from topics.messages import AntEnvelope

KEY_BYTES_MIN = 16
ANTS_MAX = 256
"""In one envelope."""
PLAIN_BYTES_MAX = 2**20
"""Of what is inside, inflated."""
DEFLATED_FROM_BYTES = 256
AROUND_BYTES = 78
"""What a broker writes beside the contents, their seal, and the target as key and in the value: the headers of a batch
and of its one record. Most envelopes have a batch to themselves."""
_PLAIN, _DEFLATED = b"\x00", b"\x01"


class Refusal(Enum):
    """Why an envelope was not let in."""

    UNREADABLE = "unreadable"
    FORGED = "forged"
    MISADDRESSED = "misaddressed"
    REPLAYED = "replayed"
    TOO_OLD = "too_old"
    TOO_EARLY = "too_early"
    TOO_FAR = "too_far"


class RefusedError(Exception):
    """An envelope that changes nothing."""

    def __init__(self, refusal: Refusal, why: str) -> None:
        super().__init__(f"{refusal.value}: {why}")
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Travelling:
    """An ant between two hosts. `hops` and `born_ms` count from when a leader or a cell set it off by itself."""

    ant: Any
    hops: int
    born_ms: float


@dataclass(frozen=True, slots=True)
class Contents:
    """What an envelope holds. `sequence` counts what this sender, since it started, has sent to this target."""

    sender: str
    boot_id: str
    sequence: int
    sent_ms: float
    ants: tuple[Travelling, ...]
    size_bytes: int = field(default=0, compare=False)
    """On the broker, once it has come."""


class _Sealed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    version: int
    sender: str
    boot_id: str
    sequence: int
    sent_ms: float
    ants: list[tuple[int, float, Any]]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Sealed).decode


def seal(contents: Contents, *, key: bytes, topic: str, target: str) -> AntEnvelope:
    """The contents, ready to leave. The ants must all belong to this topic."""
    assert all(TOPIC_OF[type(each.ant)].name == topic for each in contents.ants), contents
    ants = [(each.hops, each.born_ms, ANT.pack(each.ant)) for each in contents.ants]
    sealed = _deflated(
        _encode(_Sealed(WIRE_VERSION, contents.sender, contents.boot_id, contents.sequence, contents.sent_ms, ants))
    )
    return AntEnvelope(target=target, mac=mac_of(key, topic, target, sealed), sealed=sealed)


def unseal(envelope: AntEnvelope, *, key: bytes, topic: str) -> Contents:
    """What is inside. Raises RefusedError and nothing else."""
    if not hmac.compare_digest(envelope.mac, mac_of(key, topic, envelope.target, envelope.sealed)):
        raise RefusedError(Refusal.FORGED, "the seal was not made with the cluster's key")
    try:
        sealed = _decode(_inflated(envelope.sealed))
        if sealed.version != WIRE_VERSION or len(sealed.ants) > ANTS_MAX:
            raise MisshapenError(f"version {sealed.version} with {len(sealed.ants)} ants")
        ants = tuple(Travelling(ANT.unpack(plain), hops, born_ms) for hops, born_ms, plain in sealed.ants)
        if any(TOPIC_OF[type(each.ant)].name != topic for each in ants):
            raise MisshapenError("an ant of another topic")
    except (*UNREADABLE, MisshapenError) as fault:
        raise RefusedError(Refusal.UNREADABLE, str(fault)) from fault
    size_bytes = len(envelope.sealed) + len(envelope.mac) + 2 * len(envelope.target) + AROUND_BYTES
    return Contents(sealed.sender, sealed.boot_id, sealed.sequence, sealed.sent_ms, ants, size_bytes)


def _deflated(plain: bytes) -> bytes:
    return _PLAIN + plain if len(plain) < DEFLATED_FROM_BYTES else _DEFLATED + zlib.compress(plain, 1)


def _inflated(sealed: bytes) -> bytes:
    form, body = sealed[:1], sealed[1:]
    if form == _PLAIN:
        return body
    if form != _DEFLATED:
        raise MisshapenError(f"contents in a form {form!r}")
    inflating = zlib.decompressobj()
    try:
        plain = inflating.decompress(body, PLAIN_BYTES_MAX)
    except zlib.error as fault:
        raise MisshapenError(str(fault)) from fault
    if not inflating.eof or inflating.unused_data:
        raise MisshapenError(f"contents that do not end within {PLAIN_BYTES_MAX:,} bytes")
    return plain


def mac_of(key: bytes, topic: str, target: str, sealed: bytes) -> bytes:
    """What only a holder of the key can compute for this address and these contents."""
    assert len(key) >= KEY_BYTES_MIN, f"a key of {len(key)} bytes"
    covered = b"\x00".join((topic.encode(), target.encode(), sealed))  # names hold no zero byte: no two cases alike
    return hmac.digest(key, covered, hashlib.sha256)
