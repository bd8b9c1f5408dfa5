"""Records go where Kafka's own producers would send them, and to find out takes neither much time nor memory."""

import random
import time

import pytest
from aiokafka.partitioner import murmur2

from services.host import partitioner
from services.host.key_hash import FEW, key_hashes
from services.host.partitioner import Partitioner


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 500])
@pytest.mark.parametrize("length", [*range(10), 16, 31, 100])
def test_many_keys_hash_to_what_each_does_alone(count: int, length: int) -> None:
    """Kafka's clients decide by this hash; another one would send a key to two partitions."""
    rng = random.Random(count * 1_000 + length)
    keys = [rng.randbytes(length) for _ in range(count)]
    assert [murmur2(key) & 0xFFFFFFFF for key in keys] == key_hashes(keys)


def test_keys_of_any_length_keep_their_places() -> None:
    """They are hashed in groups of one length."""
    rng = random.Random(7)
    keys: list[bytes | None] = [rng.randbytes(rng.randrange(30)) for _ in range(3_000)]
    keys[::100] = [None] * 30
    expected = [2 if key is None else (murmur2(key) & 0x7FFFFFFF) % 5 for key in keys]
    assert expected == Partitioner(5, 2).spread(keys)
    assert expected == Partitioner(5, 2).spread(keys), "also of what is remembered"


def test_what_goes_to_one_partition_is_told_as_one() -> None:
    """Then nothing need be sorted."""
    partitions = Partitioner(3, 1)
    assert 1 == partitions.spread([None, None])
    assert 0 == Partitioner(1, 0).spread([b"a", None])
    assert (murmur2(b"a") & 0x7FFFFFFF) % 3 == partitions.spread([b"a", b"a"])


def test_what_is_remembered_is_bounded_for_all_tasks_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host has many tasks with many keys each."""
    monkeypatch.setattr(partitioner, "REMEMBERED_KEYS_MAX", 1_000)
    tasks = [Partitioner(7, home) for home in range(5)]
    for first in range(0, 9_000, 300):
        keys: list[bytes | None] = [f"k{n}".encode() for n in range(first, first + 300)]
        for task in tasks:
            assert [(murmur2(key) & 0x7FFFFFFF) % 7 for key in keys if key is not None] == task.spread(keys)
    assert 1_000 >= len(partitioner._remembered(7))
    assert all(task._known is partitioner._remembered(7) for task in tasks)


def test_a_piece_of_unknown_keys_is_spread_in_much_less_time_than_one_by_one() -> None:
    """It would keep a host from everything else; the machine of this test may be busy, so it compares."""
    keys = [f"user-{n}".encode() for n in range(10_000)]
    began_s = time.process_time()
    alone = [murmur2(key) & 0xFFFFFFFF for key in keys]
    alone_s = time.process_time() - began_s
    began_s = time.process_time()
    assert alone == key_hashes(keys)
    assert time.process_time() - began_s < alone_s / 2
