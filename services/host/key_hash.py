"""Kafka's hash of record keys (murmur2), for many keys at once.

In Python it takes 3 to 8 us a key: a window over a million groups that closes would keep a host from everything else
for seconds. Keys of one length are hashed together, word by word, as columns of numpy.
"""

from collections.abc import Sequence

import numpy as np
from aiokafka.partitioner import murmur2

FEW = 12
"""Up to so many keys of one length it is faster to take them one by one."""
WORD_BYTES = 4
_SEED = 0x9747B28C
_M = np.uint32(0x5BD1E995)


def key_hashes(keys: Sequence[bytes]) -> list[int]:
    """The hash of each key, as 32 bits without a sign."""
    hashes = [0] * len(keys)
    by_length: dict[int, list[int]] = {}
    for i, key in enumerate(keys):
        by_length.setdefault(len(key), []).append(i)
    for length, positions in by_length.items():
        chosen = [keys[i] for i in positions]
        found = [murmur2(key) & 0xFFFFFFFF for key in chosen] if len(chosen) <= FEW else _of_length(length, chosen)
        for i, each in zip(positions, found, strict=True):
            hashes[i] = each
    return hashes


def _of_length(length: int, keys: list[bytes]) -> list[int]:
    """The steps are those of Kafka's `Utils.murmur2`, each for all keys."""
    raw = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), length)
    whole = length - length % WORD_BYTES
    hashes = np.full(len(keys), _SEED ^ length, dtype=np.uint32)
    for word in np.ascontiguousarray(raw[:, :whole]).view("<u4").T:
        mixed = word * _M
        mixed ^= mixed >> np.uint32(24)
        mixed *= _M
        hashes *= _M
        hashes ^= mixed
    if whole < length:
        for shift, column in enumerate(raw[:, whole:].T):
            hashes ^= column.astype(np.uint32) << np.uint32(8 * shift)
        hashes *= _M
    hashes ^= hashes >> np.uint32(13)
    hashes *= _M
    hashes ^= hashes >> np.uint32(15)
    return [int(each) for each in hashes.tolist()]
