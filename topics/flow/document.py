"""YAML as flows use it: plain values, and for every key and value the line and column where it stands.

Strict on purpose: UTF-8, one document, no tags, no anchors or aliases (so no file grows when it is read), no duplicate
keys, bounded size and depth. Words like `on`, `yes` and `no` are text (YAML 1.2), since they are good names for fields.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import yaml

from topics.flow.limits import FILE_BYTES_MAX, FILE_DEPTH_MAX
from topics.flow.problems import Path, Place, Problem, Problems

Scalar = str | int | float | bool | None
Value = Scalar | list["Value"] | dict[str, "Value"]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a value stands. `raw` is a one-line scalar as written, with its quotes; None for anything else."""

    value: Place
    key: Place | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A file's values and the spot of each."""

    text: str
    value: Value
    spots: dict[Path, Spot]

    def locate(self, problem: Problem) -> Problem:
        """The same problem with its place: that of its path, or of the nearest thing around it that exists."""
        if problem.place is not None:
            return problem
        for length in range(len(problem.path), -1, -1):
            spot = self.spots.get(problem.path[:length])
            if spot is not None:
                exact = length == len(problem.path)
                return replace(problem, place=_place(spot, problem) if exact else spot.key or spot.value)
        return problem


def read_document(content: bytes, problems: Problems) -> Document:
    """Notes what is wrong with the YAML itself. What could be read before a syntax error is in the document."""
    if len(content) > FILE_BYTES_MAX:
        problems.add(
            (), f"the file has {len(content):,} bytes; at most {FILE_BYTES_MAX:,} are allowed, so split the flow"
        )
        return Document("", None, {})
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        problems.add(
            (),
            f"byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8",
            place=Place(before.count(b"\n") + 1, column),
        )
        return Document("", None, {})
    composer = _Composer(text, problems)
    return Document(text, composer.compose(), composer.spots)


class _StopError(Exception):
    """The file cannot be read any further; the reason has been noted."""


class _Composer:
    def __init__(self, text: str, problems: Problems) -> None:
        self.text = text
        self.problems = problems
        self.spots: dict[Path, Spot] = {}
        self.aliases: set[str | None] = set()
        self.events: Iterator[yaml.Event] = yaml.parse(text, Loader=yaml.SafeLoader)

    def compose(self) -> Value:
        value: Value = None
        try:
            next(self.events)  # the stream's start
            if not isinstance(next(self.events), yaml.StreamEndEvent):
                value = self.value((), next(self.events), None)
                next(self.events)  # the document's end
                extra = next(self.events)
                if not isinstance(extra, yaml.StreamEndEvent):
                    self.problems.add((), "a second document starts here; one file holds one flow", place=_start(extra))
        except _StopError:
            pass
        except yaml.MarkedYAMLError as error:
            self.problems.add((), f"not valid YAML: {_syntax_message(error)}", place=_syntax_place(error))
        except yaml.reader.ReaderError as error:
            before = self.text[: error.position]
            place = Place(before.count("\n") + 1, error.position - before.rfind("\n"))
            self.problems.add(
                (), f"character U+{ord(self.text[error.position]):04X} is not allowed in YAML", place=place
            )
        return value

    def value(self, path: Path, event: yaml.Event, key: Place | None) -> Value:
        if len(path) > FILE_DEPTH_MAX:
            self.problems.add((), f"nested deeper than {FILE_DEPTH_MAX} levels", place=_start(event))
            raise _StopError
        self.spots[path] = Spot(_start(event), key)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.aliases:
                message = f"aliases are not allowed; write the value of *{event.anchor} out"
                self.problems.add(path, message, place=_start(event))
            self.aliases.add(event.anchor)
            return None
        assert isinstance(event, yaml.NodeEvent), event
        if event.anchor is not None:
            message = f"anchors are not allowed; remove &{event.anchor}"
            self.problems.add(path, message, place=_start(event))
        tag = getattr(event, "tag", None)
        if tag is not None:
            message = f"tags are not allowed; remove {_shown_tag(tag)}"
            self.problems.add(path, message, place=_start(event))
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(path)
        assert isinstance(event, yaml.ScalarEvent), event
        start, end = event.start_mark, event.end_mark
        assert start is not None, event
        assert end is not None, event
        if start.line == end.line:
            self.spots[path] = Spot(_start(event), key, self.text[start.index : end.index])
        return resolve(event.value) if event.implicit[0] and event.style is None else event.value

    def sequence(self, path: Path) -> list[Value]:
        values: list[Value] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            values.append(self.value((*path, len(values)), event, None))
        return values

    def mapping(self, path: Path) -> dict[str, Value]:
        values: dict[str, Value] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                self.problems.add(path, "a key must be a word", place=_start(event))
                raise _StopError
            key = event.value
            if key in values:
                first = self.spots[(*path, key)].key
                assert first is not None
                message = f"key {key!r} is given twice (first on line {first.line}); keep one"
                self.problems.add((*path, key), message, place=_start(event))
                # The second value is read past, under a path that nothing asks for, so that the first one's spots stay.
                self.value((*path, -1), next(self.events), _start(event))
            else:
                values[key] = None
                values[key] = self.value((*path, key), next(self.events), _start(event))
        return values


PLAIN_KINDS = {
    "null": re.compile(r"(?:~|null|Null|NULL)?"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?[0-9]{1,30}"),
    "float": re.compile(r"[-+]?(?:\.[0-9]{1,30}|[0-9]{1,30}(?:\.[0-9]{0,30})?)(?:[eE][-+]?[0-9]{1,4})?"),
}
"""What an unquoted scalar may be other than text, in this order: YAML 1.2's core schema, without the octal, hexadecimal
and infinite numbers."""


def resolve(plain: str) -> Scalar:
    """What an unquoted scalar means."""
    kind = next((kind for kind, pattern in PLAIN_KINDS.items() if pattern.fullmatch(plain)), "text")
    match kind:
        case "null":
            return None
        case "bool":
            return plain.lower() == "true"
        case "int":
            return int(plain)
        case "float":
            return float(plain)
    return plain


def _place(spot: Spot, problem: Problem) -> Place:
    if problem.at == "key":
        return spot.key or spot.value
    if problem.offset is None or spot.raw is None:
        return spot.value
    columns = character_columns(spot.raw)
    return Place(spot.value.line, spot.value.column + columns[min(problem.offset, len(columns) - 1)])


_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")


def character_columns(raw: str) -> list[int]:
    """For each character of a one-line scalar's value, and for its end, the position in the scalar as written."""
    if raw[:1] not in ("'", '"'):
        return list(range(len(raw) + 1))
    columns = []
    position, end = 1, len(raw) - 1
    while position < end:
        columns.append(position)
        if raw[0] == "'":
            position += 2 if raw[position] == "'" else 1
        else:
            escape = _ESCAPE.match(raw, position)
            position = escape.end() if escape else position + 1
    return [*columns, end]


def _start(event: yaml.Event) -> Place:
    assert event.start_mark is not None, event
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


def _shown_tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")


def _syntax_place(error: yaml.MarkedYAMLError) -> Place | None:
    mark = error.problem_mark or error.context_mark
    return Place(mark.line + 1, mark.column + 1) if mark else None


def _syntax_message(error: yaml.MarkedYAMLError) -> str:
    message = " ".join(str(part) for part in (error.problem, error.context) if part)
    if "'\\t'" in message:
        message += "; indent with spaces, not tabs"
    if "flow mapping" in message:  # YAML's name for braces.
        message += "; close the braces, and put text with any of , : [ ] { } in quotes"
    return message
