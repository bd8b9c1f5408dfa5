"""`python -m services.isolated.child`: calls one function for its caller, until the caller hangs up.

It imports what the user wrote; the host never does. Too little memory ends it: a fresh one begins with none taken.
"""

import argparse
import os
import resource
import socket
import sys

import msgspec

from services.isolated.wire import LENGTH_BYTES, Progress, Started, length, packed, unpacked
from services.operators.calls import Chunk, LocalCaller
from services.operators.functions import FunctionError
from topics.flow import specs

EXIT_MEMORY = 77


def main() -> None:
    """Entry of the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--progress", type=int, required=True)
    parser.add_argument("--memory", type=int, required=True, help="bytes")
    parser.add_argument("--allow", action="append", default=[])
    parser.add_argument("spec", help="the operator's spec, as JSON")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (given.memory, given.memory))
    spec = msgspec.json.decode(given.spec, type=specs.Python)
    with socket.socket(fileno=given.socket) as line:
        try:
            _serve(line, Progress(given.progress), spec, given.allow)
        except MemoryError:
            os._exit(EXIT_MEMORY)
        except (ConnectionError, EOFError):
            os._exit(0)  # not waiting for the threads of the user


def _serve(line: socket.socket, progress: Progress, spec: specs.Python, allow: list[str]) -> None:
    try:
        caller = LocalCaller(spec, allow=allow, gives_up=True)
    except FunctionError as error:
        line.sendall(packed(Started(str(error))))
        sys.exit(0)
    line.sendall(packed(Started(None)))

    def note(done: int) -> None:
        progress.done = done

    while True:
        chunk = unpacked(_read(line, length(_read(line, LENGTH_BYTES))), Chunk)
        answers = packed(caller.call(chunk, note))
        line.sendall(answers)


def _read(line: socket.socket, count: int) -> bytearray:
    body = bytearray(count)
    view = memoryview(body)
    while view:
        got = line.recv_into(view)
        if not got:
            raise EOFError
        view = view[got:]
    return body


if __name__ == "__main__":
    main()
