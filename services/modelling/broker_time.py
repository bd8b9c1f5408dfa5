"""The broker's time, as the modelling service knows it: its models are stamped by the broker when they arrive.

A model's second is one of the broker's, and how late a warning was told is how far the broker's clock had come by then.
Spark says nothing of the stamps that its records got; so from time to time the newest one is read back, beside the
batches.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import structlog
from confluent_kafka import TopicPartition

from services.process.clock import BrokerClock, local_ms
from services.registry.errors import RegistryError
from services.registry.snapshot import read_to_end, reader, watermarks
from topics.catalogue import MODELS

log = structlog.get_logger(__name__)

ASK_EVERY_MS = 30_000.0


class BrokerTime:
    """`wrote` when models have arrived; `now_ms` is None until one of their stamps was seen."""

    def __init__(self, newest_ms: Callable[[], int | None], *, local: Callable[[], float] = local_ms) -> None:
        """`newest_ms`: the stamp of the newest model; None: there is none."""
        self._newest_ms = newest_ms
        self._clock = BrokerClock(local)
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="broker-time")
        self._asked: tuple[float, Future[None]] | None = None

    def local_ms(self) -> float:
        """By this machine's clock."""
        return self._clock.local_ms()

    @property
    def now_ms(self) -> float | None:
        """As well as it is known: off by half of what writing models and reading one takes, at most."""
        return self._clock.now_ms() if self._clock.is_set.is_set() else None

    def wrote(self, sent_ms: float) -> None:
        """Models that were sent at this local time have arrived."""
        if self._asked is not None and (not self._asked[1].done() or sent_ms - self._asked[0] < ASK_EVERY_MS):
            return
        self._asked = sent_ms, self._asking.submit(self._ask, sent_ms)

    def _ask(self, sent_ms: float) -> None:
        try:
            newest_ms = self._newest_ms()
        except RegistryError as fault:
            log.warning("the broker's time can't be read; trying again later", error=str(fault))
            return
        if newest_ms is not None:
            self._clock.exchanged(sent_ms=sent_ms, stamped_ms=newest_ms, answered_ms=self.local_ms())

    def close(self) -> None:
        """Nothing is written any more."""
        self._asking.shutdown(wait=False, cancel_futures=True)


def newest_model_ms(bootstrap: str) -> int | None:
    """When the newest record on the topic of models was appended, which is one of ours or of a host."""
    with reader(bootstrap) as consumer:
        last = read_to_end(
            consumer, [TopicPartition(MODELS.name, 0)], starts=lambda at: max(0, watermarks(consumer, at)[1] - 1)
        )
        return max((record.timestamp()[1] for record in last), default=None)
