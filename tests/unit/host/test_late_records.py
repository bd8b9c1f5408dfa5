"""A late record is set aside whatever it holds: what there is no room for is left out, its origin tells where it is."""

from typing import Any

import pytest

from services.host.set_aside import late_records
from services.operators.batch import Batch
from topics.catalogue import LATE
from topics.messages import LateRecord, Origin

VALUE = {"user": "ann"}
HUGE_KEY = b"k" * 1_700_000
HUGE_VALUE = {"text": "v" * 2_200_000}


def late(key: bytes, value: Any) -> LateRecord:
    batch = Batch([value], [key], [5], [7], 9)
    ((topic, _, raw),) = late_records("shop", "orders", batch, Origin("orders", 0, 7), 9, now_ms=1)
    return LATE.codec.decode(raw, topic=topic, partition=0, offset=0)


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        (b"ann", VALUE, (b"ann", VALUE)),
        (b"ann", HUGE_VALUE, (b"ann", None)),
        (HUGE_KEY, VALUE, (None, VALUE)),
        (HUGE_KEY, HUGE_VALUE, (None, None)),
    ],
    ids=["both", "huge value", "huge key", "both huge"],
)
def test_what_is_too_large_is_left_out_and_the_rest_is_kept(key: bytes, value: Any, kept: tuple[Any, Any]) -> None:
    """One record with a huge key raised, and so did every try: the partition was parked for good."""
    record = late(key, value)
    assert kept == (record.key, record.value)
    assert Origin("orders", 0, 7) == record.origin
