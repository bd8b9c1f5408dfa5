"""Ants on their way from one host to the next. What is inside an envelope, and who may open it: topics.ants."""

from typing import Annotated

import msgspec

from topics.messages.base import Message, Name

MAC_BYTES = 32
SEALED_BYTES_MAX = 256 * 2**10

Mac = Annotated[bytes, msgspec.Meta(min_length=MAC_BYTES, max_length=MAC_BYTES)]


class AntEnvelope(Message, frozen=True, kw_only=True, array_like=True):
    """Some ants for one host. `mac` vouches for `sealed`, for the target and for the topic: HMAC-SHA256, cluster key.

    `sealed` is not looked into before the mac has been checked.
    """

    target: Name
    mac: Mac
    sealed: Annotated[bytes, msgspec.Meta(max_length=SEALED_BYTES_MAX)]
