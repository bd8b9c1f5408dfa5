"""A table of the registry that also knows what belongs to each flow.

Who asks after one flow would else go through the partitions, or the week of moves, of all flows, and with many flows
everybody asks after each of them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

K = TypeVar("K")


class OfFlow(Protocol):
    @property
    def flow(self) -> str: ...


M = TypeVar("M", bound=OfFlow)


class FlowTable(dict[K, M]):
    """A dict that is changed by `table[key] = message`, `pop` and `clear` only; `of` follows these."""

    def __init__(self, entries: Mapping[K, M] | Iterable[tuple[K, M]] = ()) -> None:
        super().__init__()
        self._of: dict[str, dict[K, M]] = {}
        for key, message in dict(entries).items():
            self[key] = message

    def of(self, flow: str) -> Mapping[K, M]:
        """What belongs to one flow."""
        return self._of.get(flow, {})

    def __setitem__(self, key: K, message: M) -> None:
        before = self.get(key)
        if before is not None and before.flow != message.flow:
            self._leave(key, before.flow)
        super().__setitem__(key, message)
        self._of.setdefault(message.flow, {})[key] = message

    def pop(self, key: K, *default: Any) -> Any:
        if (before := self.get(key)) is not None:
            self._leave(key, before.flow)
        return super().pop(key, *default)

    def clear(self) -> None:
        super().clear()
        self._of.clear()

    def _leave(self, key: K, flow: str) -> None:
        del self._of[flow][key]
        if not self._of[flow]:
            del self._of[flow]
