"""Source topics that grow where no placement instance is active: the same file once more, and all of it is read."""

from collections.abc import Callable
from typing import Any

from services.cli.flows import flow_rows
from services.registry.snapshot import read_registry
from services.registry.submit import count_topics
from tests.integration.host_process.conftest import Stage

# Nothing is re-keyed: edges, changelogs and snapshots have as many partitions as the source.
COUNTS = """
flow: {flow}
sources:
  clicks: {topic: {source}, key: user}
operators:
  real:   {op: filter, input: clicks, where: "size > 0"}
  pages:  {op: aggregate, input: real, by: [page], emit: {seen: count()}}
  users:  {op: aggregate, input: real, by: [user], emit: {n: count()}}
  both:   {op: union, inputs: [users, pages]}
sinks:
  out: {input: both, topic: {sink}}
"""


def click(flow: Stage, partition: int, *users: str) -> None:
    flow.feed_to([partition], [{"user": user, "page": user, "size": 1} for user in users])


def counted(flow: Stage) -> dict[str, list[int]]:
    """The running counts of each user."""
    found: dict[str, list[int]] = {}
    for each in flow.results():
        if "user" in each:
            found.setdefault(each["user"], []).append(each["n"])
    return found


def unread(flow: Stage, hosts: Any) -> list[str]:
    view = read_registry(flow.bootstrap)
    rows = flow_rows(view, [hosts.name("a"), hosts.name("b")], count_topics(flow.bootstrap))
    return next(row["trouble"] for row in rows if row["flow"] == flow.name)


def test_the_same_file_again_reads_the_new_partitions(pair: Any, stage: Callable[..., Stage]) -> None:
    """Until then it is told; then all that has a partition for each of the source's gets the new ones, with state."""
    flow = stage(COUNTS, partitions=2)
    flow.submit(pair, "a", "b")
    click(flow, 0, "ada", "ada")
    flow.until(lambda: {"ada": [1, 2]} == counted(flow), "ada is counted")
    assert [] == unread(flow, pair)

    flow.grow(6)
    click(flow, 5, "bob")
    flow.until(lambda: unread(flow, pair), "somebody can see it")
    assert unread(flow, pair)[0].startswith(f"topic {flow.source} has 6 partitions, and only 2 of them are read")

    flow.submit(pair, "a", "b")
    click(flow, 0, "ada")
    click(flow, 5, "bob")
    flow.until(lambda: {"ada": [1, 2, 3], "bob": [1, 2]} == counted(flow), "both are counted, with what was known")
    assert [] == unread(flow, pair)
