"""Source topics that `stigmergy submit` makes for a user: with the partitions that the flow says, whoever else does."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic

from services.registry import submit
from services.registry.errors import RegistryError
from services.registry.submit import check_sources, make_sources
from topics.flow.file import parse_graph

GRAPH = parse_graph("""
flow: shops
sources:
  sales: {topic: sales, key: shop}
  prices: {topic: prices, key: shop, partitions: 8}
operators:
  both: {op: union, inputs: [sales, prices]}
sinks:
  out: {input: both, topic: out}
""")


class Admin:
    """A cluster that makes topics; `taken` are made by somebody else at the same moment, with these partitions."""

    def __init__(self, taken: dict[str, int]) -> None:
        self.taken = taken
        self.made: dict[str, int] = {}

    def create_topics(self, wanted: list[NewTopic], **_: Any) -> dict[str, "Future[None]"]:
        answers: dict[str, Future[None]] = {}
        for topic in wanted:
            answer = answers[topic.topic] = Future()
            if topic.topic in self.taken:
                answer.set_exception(KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)))
            else:
                self.made[topic.topic] = topic.num_partitions
                answer.set_result(None)
        return answers

    def list_topics(self, **_: Any) -> Any:
        every = self.made | self.taken
        return SimpleNamespace(
            topics={name: SimpleNamespace(partitions=range(count), error=None) for name, count in every.items()}
        )


def test_what_is_missing_is_made_and_what_is_there_stays() -> None:
    """The flow's own word on partitions counts more than the command's."""
    admin, counts = Admin({}), {"other": 1}
    assert ("prices", "sales") == make_sources(admin, GRAPH, counts, 2)  # type: ignore[arg-type]
    assert {"prices": 8, "sales": 2} == admin.made
    assert {"other": 1, "prices": 8, "sales": 2} == counts
    assert () == make_sources(admin, GRAPH, counts, 3)  # type: ignore[arg-type]


def test_a_topic_that_somebody_makes_at_the_same_moment_is_taken_as_it_is() -> None:
    """And refused if it is not what the flow says."""
    admin, counts = Admin({"prices": 3}), dict[str, int]()
    assert ("sales",) == make_sources(admin, GRAPH, counts, 2)  # type: ignore[arg-type]
    with pytest.raises(RegistryError, match="has 8 partitions, the broker says 3"):
        check_sources(GRAPH, counts)


def test_a_missing_topic_is_refused_with_the_command_that_makes_it() -> None:
    """The embedded stack has no tools of Kafka's."""
    with pytest.raises(RegistryError) as refused:
        check_sources(GRAPH, {"prices": 8})
    assert "--make-topics 4" in str(refused.value.remedy)


def test_a_cluster_that_does_not_answer_is_told_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took the request, and then nothing came."""
    monkeypatch.setattr(submit, "TIMEOUT_S", 0.01)
    admin = SimpleNamespace(create_topics=lambda wanted, **_: {each.topic: Future() for each in wanted})
    with pytest.raises(RegistryError, match="topic prices could not be made within"):
        make_sources(admin, GRAPH, {}, 2)  # type: ignore[arg-type]
