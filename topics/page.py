"""Write docs/topics.md from the catalogue: `python -m topics.page`. The page is made, never edited."""

from pathlib import Path
from typing import Any

from topics.catalogue import CATALOGUE
from topics.topic import DAY_MS, HOUR_MS, MINUTE_MS, Compacted, Topic

PAGE = Path(__file__).parents[1] / "docs" / "topics.md"

_HEAD = """# Topics

Made by `python -m topics.page` from `topics/catalogue.py`. A name with a `{part}` exists once for each flow, edge,
operator or segment. "Last of each key" is Kafka's compaction. Writers and readers are folders of `services`; some of
them go through `services/registry` and `services/setaside`.

| topic | what for | key | message | partitions | kept | written by | read by |
|---|---|---|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(f"| {' | '.join(_cells(topic))} |\n" for topic in CATALOGUE)


def _cells(topic: Topic[Any]) -> list[str]:
    return [
        f"`{topic.name}`",
        topic.purpose,
        f"`{topic.key}`" if topic.key is not None else "",
        f"`{topic.message.__name__}`" if topic.message is not None else "",
        str(topic.partitions) if topic.partitions is not None else "as the flow needs",
        _kept(topic),
        ", ".join(topic.written_by),
        ", ".join(topic.read_by),
    ]


def _kept(topic: Topic[Any]) -> str:
    if isinstance(topic.retention, Compacted):
        return "last of each key"
    for unit_ms, unit in ((DAY_MS, "day"), (HOUR_MS, "hour"), (MINUTE_MS, "minute")):
        count, rest = divmod(topic.retention.for_ms, unit_ms)
        if count and not rest:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    raise AssertionError(f"{topic.name} is kept for {topic.retention.for_ms} ms, which is no number of minutes")


if __name__ == "__main__":
    PAGE.write_text(page())
