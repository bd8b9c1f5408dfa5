"""The settings of Stigmergy: what each is for, its default, and where its value came from.

A setting comes from the file `stigmergy.toml`, from the environment (`STIGMERGY_...`) or from a flag; of these, a later
one wins. The file is the one named by STIGMERGY_CONFIG, else `stigmergy.toml` in the current folder, else the one in
the user's configuration folder (`~/.config/stigmergy/`). `stigmergy config` shows the outcome.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path, user_config_path, user_data_path

FILE_NAME = "stigmergy.toml"
PREFIX = "STIGMERGY_"
CONFIG_VARIABLE = "STIGMERGY_CONFIG"
OTHER_VARIABLES = ("DATA", "CLUSTER_KEY", "NAME", "REGION", "TEST_RUN")
"""After the prefix: what other parts read by themselves."""
COMPOSE_VARIABLES = (
    *("IMAGE", "KAFKA_IMAGE", "REDIS_IMAGE", "MODELS_IMAGE"),
    *("KAFKA_PORT", "KAFKA_HOST", "KAFKA_MEMORY", "KAFKA_HEAP", "MODELS_MEMORY"),
)
"""After the prefix: what compose/.env.example has beside all this, if it looks like a setting of ours."""
LOOPBACK = "127.0.0.1"
LOG_LEVELS = ("debug", "info", "warning", "error")
BROKERS_MAX = 9
HEAP_MB_MIN, HEAP_MB_MAX = 480, 65_536
"""Spark does not begin with less than the first."""
LOG_FORMATS = ("auto", "human", "json")
SILENT_S = 5.0
"""A host reports once a second; one that has missed five reports is taken for gone."""
SILENT_S_MIN = 2.0
RETURN_S = 30.0
"""Machines that lost power together boot within so long of each other."""
HOST_NAME_LENGTH_MAX = 100
"""Names of two hosts must fit into one name of a figure, such as that of the delay between them."""


class SettingsError(Exception):
    """A setting cannot be used. `remedy` is the next thing a person should try."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}\n{remedy}")
        self.what = what
        self.remedy = remedy


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All settings. Their names are those of the file; in capitals after STIGMERGY_, those of the environment."""

    home: Path = field(
        default_factory=lambda: user_data_path("stigmergy"), metadata={"help": "Folder of the embedded stack's data"}
    )
    cache: Path = field(
        default_factory=lambda: user_cache_path("stigmergy"),
        metadata={"help": "Folder of downloads, for all clones"},
    )
    brokers: int = field(default=1, metadata={"help": "Embedded Kafka brokers, each in a region of its own"})
    world: Path | None = field(default=None, metadata={"help": "A world file: regions, hosts, and how far they are"})
    bootstrap: str | None = field(default=None, metadata={"help": "Your own Kafka, as host:port; none is started then"})
    redis_url: str | None = field(default=None, metadata={"help": "Your own Redis; none is started then"})
    kafka_home: Path | None = field(default=None, metadata={"help": "An unpacked Kafka 4 to run; none is fetched then"})
    cluster_key_file: Path | None = field(
        default=None, metadata={"help": "File with the key that hosts know each other by; unset: the stack's own"}
    )
    demo: bool = field(
        default=True,
        metadata={"help": "Run the demo too: hosts in two regions, a flow that ants place, made-up packets"},
    )
    silent_s: float = field(
        default=SILENT_S,
        metadata={"help": "Seconds without a report after which a host is lost, for hosts and placement alike"},
    )
    return_s: float = field(
        default=RETURN_S,
        metadata={"help": "Seconds more that hosts have to return when all were silent, until half of them are back"},
    )
    listen: str = field(
        default=LOOPBACK, metadata={"help": "Address of /health and /metrics of hosts and placement instances"}
    )
    models: bool = field(default=True, metadata={"help": "Run the modelling service too, beside hosts"})
    models_master: str = field(
        default="local[*]", metadata={"help": "Spark of the modelling service: local[CORES] or spark://HOST:PORT"}
    )
    models_heap_mb: int = field(
        default=640, metadata={"help": "Heap of that Spark in MB; more for more than 2,000 operators"}
    )
    log_level: str = field(default="info", metadata={"help": f"One of {', '.join(LOG_LEVELS)}"})
    log_format: str = field(default="auto", metadata={"help": "human, json, or auto: human on a terminal, else json"})


NAMES = tuple(setting.name for setting in fields(Settings))


@dataclass(frozen=True)
class Loaded:
    """The settings, and for each of them where its value came from."""

    settings: Settings
    origins: Mapping[str, str]


def load_settings(flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> Loaded:
    """Reads file, environment and flags, in this order of increasing weight. A flag that is None was not given."""
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    origins = dict.fromkeys(NAMES, "default")
    path = find_file(environment)
    if path is not None:
        for name, value in _read_file(path).items():
            values[name], origins[name] = _parse(name, value, where=str(path)), f"file {path}"
    _check_variables(environment)
    for name in NAMES:
        variable = PREFIX + name.upper()
        if environment.get(variable):
            values[name], origins[name] = _parse(name, environment[variable], where=variable), f"environment {variable}"
    for name, value in (flags or {}).items():
        if value is not None:
            flag = f"--{name.replace('_', '-')}"
            values[name], origins[name] = _parse(name, value, where=flag), f"flag {flag}"
    return Loaded(Settings(**values), origins)


def check_host_name(name: str) -> str:
    """The name, if a host can have it."""
    if not 1 <= len(name) <= HOST_NAME_LENGTH_MAX:
        raise SettingsError(
            f"the host's name has {len(name)} characters, expected 1 to {HOST_NAME_LENGTH_MAX}",
            "give it a shorter one, such as --name edge-1" if name else "give it one, such as --name edge-1",
        )
    return name


def find_file(environment: Mapping[str, str]) -> Path | None:
    """The settings file in use, or None."""
    named = environment.get(CONFIG_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise SettingsError(f"{CONFIG_VARIABLE} names {named}, which is not a file", "correct it, or unset it")
        return Path(named)
    candidates = (Path.cwd() / FILE_NAME, user_config_path("stigmergy") / FILE_NAME)
    return next((path for path in candidates if path.is_file()), None)


def as_environment(settings: Settings) -> dict[str, str]:
    """The variables that give another process the same settings."""
    values = {setting.name: getattr(settings, setting.name) for setting in fields(settings)}
    return {PREFIX + name.upper(): "" if value is None else str(value) for name, value in values.items()}


def _check_variables(environment: Mapping[str, str]) -> None:
    """A misspelt variable would be ignored in silence, and its setting be another than a person believes."""
    known = [*(name.upper() for name in NAMES), CONFIG_VARIABLE.removeprefix(PREFIX)]
    for variable in sorted(environment):
        word = variable.removeprefix(PREFIX)
        if variable.startswith(PREFIX) and word not in (*known, *OTHER_VARIABLES, *COMPOSE_VARIABLES):
            near = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
            if near:  # else it is for something else
                raise SettingsError(f"{variable} is no setting", f"did you mean {PREFIX}{near[0]}?")


def _read_file(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as fault:
        raise SettingsError(f"{path}: {fault}", "correct the file; it must be TOML, such as: brokers = 3") from fault
    for name in table:
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the settings are {', '.join(NAMES)}"
            raise SettingsError(f"{path}: there is no setting {name!r}", hint)
    return table


def _parse(name: str, value: Any, *, where: str) -> Any:
    """The value in its own type. Text is what the environment has; a file and a flag may have more."""
    if name in ("home", "cache", "kafka_home", "world", "cluster_key_file"):
        if not isinstance(value, str | Path):
            raise SettingsError(f"{where}: {name} is {value!r}, expected a path", "write it in quotes")
        return Path(value).expanduser().absolute()
    if name == "brokers":
        return _parse_count(name, value, where=where, least=1, most=BROKERS_MAX)
    if name == "models_heap_mb":
        return _parse_count(name, value, where=where, least=HEAP_MB_MIN, most=HEAP_MB_MAX)
    if name in ("silent_s", "return_s"):
        least, such_as = {"silent_s": (SILENT_S_MIN, SILENT_S), "return_s": (0.0, RETURN_S)}[name]
        return _parse_seconds(name, value, where=where, least=least, such_as=such_as)
    if name in ("demo", "models"):
        return _parse_yes_or_no(name, value, where=where)
    if not isinstance(value, str):
        raise SettingsError(f"{where}: {name} is {value!r}, expected a text", "write it in quotes")
    allowed = {"log_level": LOG_LEVELS, "log_format": LOG_FORMATS}.get(name)
    if allowed is not None and value not in allowed:
        raise SettingsError(f"{where}: {name} is {value!r}", f"choose one of {', '.join(allowed)}")
    return value


def _parse_yes_or_no(name: str, value: Any, *, where: str) -> bool:
    meaning = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(str(value).lower())
    if meaning is None:
        raise SettingsError(f"{where}: {name} is {value!r}", "choose true or false")
    return meaning


def _parse_seconds(name: str, value: Any, *, where: str, least: float, such_as: float) -> float:
    try:
        seconds = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    except ValueError:
        seconds = -1.0
    if not least <= seconds < float("inf"):
        raise SettingsError(
            f"{where}: {name} is {value!r}, expected seconds, {least:g} or more", f"such as {name} = {such_as}"
        )
    return seconds


def _parse_count(name: str, value: Any, *, where: str, least: int, most: int) -> int:
    try:
        count = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else 0
    except ValueError:
        count = 0
    if not least <= count <= most:
        raise SettingsError(
            f"{where}: {name} is {value!r}, expected a whole number from {least} to {most}", f"such as {name} = {least}"
        )
    return count
