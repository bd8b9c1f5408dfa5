"""Landmarks: where tasks stood at times. Kafka forgets offsets that nobody has committed for a while; these stay."""

from topics.messages.base import Count, Message, Name, Positive, TimeMs


class Landmark(Message, frozen=True, kw_only=True):
    """One partition of one segment has begun, and stood here when it was committed together with this.

    `offsets`: the next one of each input topic. `remembered`: what else belongs to these offsets, where it is too much
    for the metadata that Kafka keeps with them; in the format of the host.
    """

    segment: Name
    partition: Count
    epoch: Positive
    committed_ms: TimeMs
    offsets: dict[Name, Count]
    remembered: bytes | None = None
