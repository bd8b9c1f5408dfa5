"""The compose files as Compose puts them together, without Compose: as much of its rules as our files use."""

from pathlib import Path
from typing import Any

import yaml

COMPOSE = Path(__file__).parents[3] / "compose"
ADDED_TO = ("volumes", "ports", "configs", "secrets", "tmpfs")
"""Lists of these names grow; other lists are replaced."""


class Anew:
    """A value under `!override` or `!reset`: it takes the place of what another file says."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Loader(yaml.SafeLoader):
    """Knows the tags by which one compose file takes back what another says."""


def _anew(loader: yaml.SafeLoader, _tag: str, node: yaml.Node) -> Anew:
    if isinstance(node, yaml.MappingNode):
        return Anew(loader.construct_mapping(node, deep=True))
    return Anew(loader.construct_sequence(node, deep=True))  # type: ignore[arg-type]


Loader.add_multi_constructor("!", _anew)


def services(*, world: bool) -> dict[str, dict[str, Any]]:
    """All services of compose.yaml, or of it and world.yaml."""
    base = _read("compose.yaml")["services"]
    if not world:
        return dict(base)
    beside = _read("world.yaml")["services"]
    merged = dict(base)
    for name, service in beside.items():
        under = base[service["extends"]["service"]] if "extends" in service else base.get(name, {})
        merged[name] = _merge(under, {key: value for key, value in service.items() if key != "extends"})
    return merged


def volumes(*, world: bool) -> set[str]:
    """The names of the volumes that the files declare."""
    files = ("compose.yaml", "world.yaml") if world else ("compose.yaml",)
    return {name for file in files for name in _read(file)["volumes"]}


def _read(name: str) -> dict[str, Any]:
    return dict(yaml.load((COMPOSE / name).read_text(), Loader))


def _merge(under: Any, over: Any, key: str = "") -> Any:
    if isinstance(over, Anew):
        return over.value
    if isinstance(under, dict) and isinstance(over, dict):
        return under | {name: _merge(under.get(name), value, name) for name, value in over.items()}
    if isinstance(under, list) and isinstance(over, list) and key in ADDED_TO:
        return under + over
    return over
