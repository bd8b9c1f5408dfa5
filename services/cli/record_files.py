"""Files of records, one JSON value in a line: what `flow run` reads and writes."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from services.operators.batch import Batch
from services.operators.encode import Encoded
from services.operators.failure import Failure
from services.operators.run import BATCH_RECORDS

_LATE, _DEAD = "_late", "_dead-letters"

_encode = msgspec.json.Encoder().encode


class InputError(ValueError):
    """The given inputs do not fit the flow's sources."""


def assign(sources: Sequence[str], inputs: Sequence[str]) -> dict[str, str]:
    """Which file belongs to which source; an input is `SOURCE=FILE`, or just `FILE` when there is one source."""
    found: dict[str, str] = {}
    for each in inputs:
        name, equals, path = each.partition("=")
        if not (equals and name in sources):
            if len(sources) > 1 or (equals and not Path(each).exists()):
                raise InputError(f"--input {each}: write SOURCE=FILE; the flow's sources are {', '.join(sources)}")
            name, path = sources[0], each
        if name in found:
            raise InputError(f"--input {each}: the source {name} has an input already; join the files before")
        if path == "-" and "-" in found.values():
            raise InputError(f"--input {each}: standard input can feed one source only; write the others to files")
        found[name] = path
    if missing := [name for name in sources if name not in found]:
        wanted = " ".join(f"--input {name}=FILE" for name in missing)
        raise InputError(f"no input for {', '.join(missing)}; add {wanted}")
    return found


def open_input(path: str) -> AbstractContextManager[BinaryIO]:
    """A file, or standard input for `-`, which stays open."""
    if path == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise InputError(
            f"--input {path}: {error.strerror}; name a file of JSON lines, or - for standard input"
        ) from None


def batches(stream: BinaryIO) -> Iterator[list[bytes]]:
    """The lines of a file that are not blank, some at a time."""
    while lines := list(islice(stream, BATCH_RECORDS)):
        yield [line for line in lines if not line.isspace()]


class Writer(Protocol):
    """Takes what a flow gives."""

    def results(self, sink: str, encoded: Encoded) -> None: ...

    def late(self, source: str, late: Batch) -> None: ...

    def failures(self, failures: Sequence[Failure]) -> None: ...


class Lines:
    """Results of all sinks as lines of one stream; what is late or failed is not written, a pipe wants results."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def results(self, sink: str, encoded: Encoded) -> None:
        self._stream.writelines(
            _encode({"sink": sink, "key": text(key), "value": msgspec.Raw(value), "time": time}) + b"\n"
            for key, value, time in zip(encoded.keys, encoded.values, encoded.times, strict=True)
        )

    def late(self, source: str, late: Batch) -> None:
        pass

    def failures(self, failures: Sequence[Failure]) -> None:
        pass


class Folder:
    """`SINK.jsonl` with the values alone, ready to be another flow's input; `_late.jsonl` and `_dead-letters.jsonl`.

    All of them are made anew, also those that stay empty: nothing of an earlier run is taken for a result of this one.
    No sink's name begins with `_`.
    """

    def __init__(self, folder: Path, sinks: Sequence[str], stack: ExitStack) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, BinaryIO] = {
            name: stack.enter_context((folder / f"{name}.jsonl").open("wb")) for name in (*sinks, _LATE, _DEAD)
        }

    def results(self, sink: str, encoded: Encoded) -> None:
        self._files[sink].writelines(value + b"\n" for value in encoded.values)

    def late(self, source: str, late: Batch) -> None:
        self._files[_LATE].writelines(
            _encode({"source": source, "value": value, "time": time}) + b"\n"
            for value, time in zip(late.values, late.times, strict=True)
        )

    def failures(self, failures: Sequence[Failure]) -> None:
        self._files[_DEAD].writelines(_encode(shown(failure)) + b"\n" for failure in failures)


def shown(failure: Failure) -> dict[str, Any]:
    """A failure for a person; `record` counts the source's records from 1, and is null for a computed one."""
    value = text(failure.value) if isinstance(failure.value, bytes) else failure.value
    record = failure.offset + 1 if failure.offset >= 0 else None
    return {"operator": failure.operator, "record": record, "error": failure.error, "value": value}


def text(raw: bytes | None) -> str | None:
    """Bytes as something that JSON can carry."""
    return None if raw is None else raw.decode(errors="backslashreplace")
