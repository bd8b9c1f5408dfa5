"""Which images the containers are made from."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

VARIABLES = {
    "stigmergy": "STIGMERGY_IMAGE",
    "kafka": "STIGMERGY_KAFKA_IMAGE",
    "redis": "STIGMERGY_REDIS_IMAGE",
}


@dataclass(frozen=True, kw_only=True)
class Images:
    """The defaults are those of compose/compose.yaml; each can be replaced by an argument or by its variable."""

    stigmergy: str = "stigmergy"
    kafka: str = "apache/kafka:4.1.0"
    redis: str = "redis:7-bookworm"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """The images that STIGMERGY_IMAGE, STIGMERGY_KAFKA_IMAGE and STIGMERGY_REDIS_IMAGE name, else the defaults."""
        environment = os.environ if environment is None else environment
        return cls(**{name: environment[key] for name, key in VARIABLES.items() if environment.get(key)})
