"""Golden files of models: the bytes of each kind, as some version of Stigmergy wrote them.

Made by `.venv/bin/python tests/golden/make_models.py`. They stay on a compacted topic for years, so a file is never
changed: `rate.v1.0.json` is the first shape, and a kind that gains a field with a default gets `rate.v1.1.json`.
"""

import sys
from pathlib import Path

from topics.catalogue import MODELS
from topics.messages import (
    EdgeModel,
    ForecastModel,
    HotSpotModel,
    LinkModel,
    Model,
    RateModel,
    ScoreModel,
    SeenRate,
    ServiceModel,
    SignatureModel,
    SlackModel,
    version_of,
)
from topics.messages.models import AnyBody

FOLDER = Path(__file__).parent / "models"

BODIES: dict[str, AnyBody] = {
    "rate/talk/tcp": RateModel("talk", "talk.aaaa", "tcp", 4_000.5, 4_100.25, 10, 1.25, 0.75),
    "edge/talk/talk.aaaa": EdgeModel(
        "talk", "talk.aaaa", 480_000.5, 300_000.0, 12_000.0, -12.5, 7_340_032.0, 510_000.5, 320_000.25, 10
    ),
    "service/talk/tcp/edge-1": ServiceModel(
        "talk", "talk.aaaa", "tcp", "edge-1", 9.5, 1.5, 812.5, 9_000.5, 118, 0.001, 2.5, 0.0001, 0.25, 8_500.5
    ),
    "link/edge-1/noc": LinkModel("edge-1", "noc", 12.5, 2.25, 9.75, 0.25),
    "forecast/talk/tcp": ForecastModel("talk", "tcp", 4_000.5, (1, 10), (4_010.5, 4_100.0), (12.5, None), "udp", 3, 60),
    "signature/talk/tcp": SignatureModel("talk", "tcp", (5, 20), (0.75, 0.125)),
    "slack/talk": SlackModel("talk", 250.0, 120.5, 129.5, (10, 60), (100.5, -5.25), (7.5, None)),
    "hotspot/talk": HotSpotModel(
        "talk",
        "edge-1",
        "tcp",
        42.5,
        -5.25,
        0.875,
        ("count", "talk"),
        (SeenRate("count", "count.aaaa", 812.5), SeenRate("talk", "talk.aaaa", 4_000.5)),
    ),
    "score/forecast/10": ScoreModel("forecast", "10", 4_711, 0.25, 0.375, 0.875, 0.9375, 12.5, 0.6875, 1e6, 16),
}


def sample(key: str) -> Model:
    """A model with every field set."""
    return Model(key, 1_763_264_651, 120, 118, 0.015, 1_763_264_652_300, 4_711, BODIES[key])


def encode(key: str) -> bytes:
    """Its bytes on its topic."""
    return MODELS.codec.encode(sample(key), topic=MODELS.name)


def shapes(key: str) -> list[Path]:
    """The golden files of a kind at its present major version, oldest shape first."""
    kind = key.split("/", maxsplit=1)[0]
    found = FOLDER.glob(f"{kind}.v{version_of(Model)}.*.json")
    return sorted(found, key=lambda path: int(path.name.split(".")[2]))


def main() -> int:
    """Writes a golden file for each kind whose bytes are new."""
    FOLDER.mkdir(exist_ok=True)
    for key in BODIES:
        known = shapes(key)
        if not known or known[-1].read_bytes() != encode(key):
            path = FOLDER / f"{key.split('/', maxsplit=1)[0]}.v{version_of(Model)}.{len(known)}.json"
            path.write_bytes(encode(key))
            print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
