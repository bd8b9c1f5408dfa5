"""Models in Redis: written whole, read by tools, and by the service itself when it starts.

Redis may be gone: models are then on their topic alone. After a failure it is left alone for a while, so that a dead
Redis does not hold up the models.
"""

import time
from collections.abc import Sequence
from typing import Any

import structlog
from redis import Redis
from redis.exceptions import RedisError

from services.logs import hide_in_text
from services.modelling.mirror_layout import EXPIRES_AFTER_S, hash_of
from services.modelling.mirror_read import read_models
from topics.messages import Model

log = structlog.get_logger(__name__)

TIMEOUT_S = 2.0
PAUSE_S = 3.0


class Mirror:
    """`write` sets and deletes models. `failures` counts what could not be written; what was to be deleted is kept."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._redis = Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        self._hashes: dict[str, str] = {}
        self._gone: set[str] = set()
        """To be deleted as soon as Redis is there."""
        self._again_s = 0.0
        self.failures = 0

    def write(self, keys: Sequence[str], values: Sequence[bytes], gone: Sequence[str]) -> bool:
        """Whether Redis has them now."""
        self._gone = self._gone.difference(keys).union(gone)
        if time.monotonic() < self._again_s:
            self.failures += 1
            return False
        hashes: dict[str, dict[Any, Any]] = {}
        for key, value in zip(keys, values, strict=True):
            hashes.setdefault(self._hash(key), {})[key] = value
        try:
            with self._redis.pipeline(transaction=False) as pipeline:
                for name, fields in hashes.items():
                    pipeline.hset(name, mapping=fields)
                    pipeline.expire(name, EXPIRES_AFTER_S)
                for key in sorted(self._gone):
                    pipeline.hdel(self._hash(key), key)
                    self._hashes.pop(key, None)
                pipeline.execute()
        except (RedisError, OSError) as fault:
            self.failures += 1
            self._again_s = time.monotonic() + PAUSE_S
            log.warning("models not mirrored", redis=hide_in_text(self._url), error=str(fault))
            return False
        self._gone.clear()
        return True

    def read(self, kind: str) -> list[Model] | None:
        """All models of a kind; None: Redis is away."""
        if time.monotonic() < self._again_s:
            return None
        try:
            return read_models(self._redis, kind=kind)
        except (RedisError, OSError) as fault:
            self._again_s = time.monotonic() + PAUSE_S
            log.warning("models can't be read", redis=hide_in_text(self._url), error=str(fault))
            return None

    def close(self) -> None:
        """Lets go of the connection."""
        self._redis.close()

    def _hash(self, key: str) -> str:
        found = self._hashes.get(key)
        if found is None:
            found = self._hashes[key] = hash_of(key)
        return found
