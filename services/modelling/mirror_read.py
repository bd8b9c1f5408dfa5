"""Reading models from Redis, for tools."""

from redis import Redis

from services.modelling.mirror_layout import KINDS, hash_of, models_in, pattern_of
from topics.messages import Model

SCAN_COUNT = 1_000


def read_models(redis: "Redis", *, kind: str | None = None, name: str | None = None) -> list[Model]:
    """All models of a kind (None: of all), about this flow or host (None: about all), sorted by key."""
    kinds = KINDS if kind is None else (kind,)
    found: list[Model] = []
    for each in kinds:
        if name is not None:
            hashes = [hash_of(f"{each}/{name}").encode()]
        else:
            hashes = sorted(redis.scan_iter(match=pattern_of(each), count=SCAN_COUNT))
        for place in hashes:
            found += models_in(redis.hgetall(place))
    return sorted(found, key=lambda model: model.key)


def read_model(redis: "Redis", key: str) -> Model | None:
    """The model with this key."""
    value = redis.hget(hash_of(key), key)
    found = list(models_in({key.encode(): value})) if isinstance(value, bytes) else []
    return found[0] if found else None
