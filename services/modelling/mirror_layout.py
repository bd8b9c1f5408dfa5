"""How models lie in Redis: one hash for each kind and first name, so that all of a flow are read at once.

The hash `stig:models:rate/FLOW` has the field `rate/FLOW/OPERATOR` for each of its operators; the value is the message
as it is on `stig.models`. A hash that nobody writes any more expires; a field of which nothing was told for as long is
deleted. Until then it may outlast what it is about: readers look at a model's `second`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from topics.catalogue import MODELS
from topics.errors import MessageError
from topics.messages import Model

PREFIX = "stig:models:"
KINDS = ("rate", "edge", "service", "link", "forecast", "signature", "slack", "hotspot", "score")
EXPIRES_AFTER_S = 3_600


def hash_of(key: str) -> str:
    """The hash in which the model with this key lies: its kind and first name."""
    kind, name, *_ = key.split("/", 2)
    return f"{PREFIX}{kind}/{name}"


def pattern_of(kind: str) -> str:
    """Matches the hashes of a kind."""
    return f"{PREFIX}{kind}/*"


def models_in(values: Mapping[Any, Any]) -> Iterable[Model]:
    """The models of a hash, sorted by key; what this version can't read is left out."""
    for key, value in sorted(values.items()):
        try:
            yield MODELS.codec.decode(value, topic=key.decode(errors="replace"), partition=0, offset=0)
        except MessageError:
            continue
