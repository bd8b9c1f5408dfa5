"""Letters: news for a leader that lives on another host. Ants of a branch start at its producer, not at the leader."""

from dataclasses import dataclass
from typing import Any

from placement.ants.effects import Home, Lost, Send


@dataclass(frozen=True, slots=True)
class Letter:
    """News for the leader of a flow, on its way there."""

    flow: str
    news: Any


def home_or_letter(here: str, home: str, flow: str, news: Any) -> list[Send | Home | Lost]:
    """Hand the news over, or send it to where the leader lives."""
    return [Home(flow, news)] if here == home else [Send(home, Letter(flow, news))]
