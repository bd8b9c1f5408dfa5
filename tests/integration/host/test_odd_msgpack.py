"""MessagePack records that say what JSON can't, on the real broker: those alone are dead letters."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.msgpack import Ext

from topics.names import dead_letter_topic

FLOW = """
flow: {flow}
sources:
  visits: {{topic: {source}, codec: msgpack}}
operators:
  counted: {{op: aggregate, input: visits, by: [place], emit: {{count: count()}}}}
sinks:
  out: {{input: counted, topic: {sink}, key: place}}
"""


def test_one_odd_record_does_not_park_its_partition(bench: Callable[..., Any]) -> None:
    """Groups and keys are JSON with its fields in order: both raised for the whole batch, whenever it was tried."""
    made = bench(FLOW, partitions=1)
    bath, odd_name, extension = {"town": "Bath"}, {1: "Bath"}, Ext(5, b"Bath")

    async def story() -> None:
        await made.begin()
        await made.send([msgspec.msgpack.encode({"place": place}) for place in (bath, odd_name, extension, bath)])
        rows = await made.until(lambda rows: any(value["count"] == 2 for _, value in rows))
        assert {b'{"town":"Bath"}'} == {key for key, _ in rows}
        letters = [letter for _, letter in await made.read(dead_letter_topic(made.graph.spec.name))]
        assert [1, 2] == [letter["origin"]["offset"] for letter in letters]
        assert "names of fields are text" in letters[0]["error"]
        assert "an extension of type 5" in letters[1]["error"]
        assert {"recovering", "running"} >= {state for _, state, _ in made.states}
        await made.stop()

    asyncio.run(story())
