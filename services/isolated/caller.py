"""The caller of a function that runs in another process: it notices when that one hangs or dies, and goes on without.

A record at which the child hangs has failed, and so has one that ends a fresh child which has nothing else in hand: one
that has just begun has leaked nothing yet. All others go on in another child, since a child keeps nothing between
chunks that matters. A function that hangs or dies again and again without one success in between is broken.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import structlog

from services.embedded.spawn import leashed
from services.isolated.child import EXIT_MEMORY
from services.isolated.wire import LENGTH_BYTES, Progress, Started, length, packed, unpacked
from services.operators.calls import AT_A_TIME_MAX, WASTED_S_MAX, Answers, BrokenFunctionError, Chunk, Error
from services.operators.functions import FunctionError
from topics.flow import specs

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 0.1
LOOK_S_MAX = 2 * LOOK_EVERY_S
"""What one look may add to the time that a child has taken, however long the machine stood still before it."""
BAD_IN_A_ROW_MAX = 5
"""So many records that hang or kill, and no other between them, and the function is given up."""
ENDING_S_MAX = 5.0
"""How long a child that has hung up may take to end; one that dies of a fault may have to write its core first."""


MEMORY_MB, MEMORY_MB_MIN = 512, 64
"""What a function's process may take unless a host says otherwise, and what it takes to start at all."""


@dataclass(frozen=True, slots=True)
class IsolationParams:
    """What a function's process may take. `start_s`: to import what the user wrote."""

    memory_bytes: int = MEMORY_MB << 20
    start_s: float = 30.0

    def __post_init__(self) -> None:
        assert self.memory_bytes >= MEMORY_MB_MIN << 20, self


class _ChildEndedError(Exception):
    """`at`: the record it had in hand. `hung`: we ended it."""

    def __init__(self, at: int, why: str, *, hung: bool) -> None:
        super().__init__(why)
        self.at = at
        self.hung = hung


class ClosedError(Exception):
    """The caller was closed while it waited."""


class IsolatedCaller:
    """Starts its child with the first call. `close` may be called from any thread."""

    waits = True

    def __init__(self, spec: specs.Python, *, allow: Sequence[str], params: IsolationParams | None = None) -> None:
        self._spec = spec
        self._allow = tuple(allow)
        self._params = params or IsolationParams()
        self._child: _Child | None = None
        self._is_closed = False
        self._busy = threading.Lock()
        self._bad_in_a_row = 0

    def check(self) -> None:
        with self._busy:
            self._running()

    def call(self, chunk: Chunk) -> Answers:
        """The answers for all records, whatever becomes of the child."""
        with self._busy:
            return self._call(chunk)

    def _call(self, chunk: Chunk) -> Answers:
        """In parts, each in order. A child that ends takes the answers of its part along: what came before the record
        that it had in hand is called again first, then that record, in a fresh child. If that ends as well, any of the
        records that a blocking function has in hand at the same time may be to blame: they go in one by one."""
        whole = Answers([])
        states = list(chunk.states)
        count = len(chunk.records)
        until, hung_at, alone_until = count, None, 0
        while (start := len(whole.results)) < count:
            if start < alone_until:
                until = start + 1
            child = self._running()
            was_fresh = child.is_fresh
            groups = chunk.groups[start:until] if chunk.groups is not None else None
            try:
                answers = child.exchange(Chunk(chunk.records[start:until], groups, states), self._timeout_s)
            except _ChildEndedError as ended:
                log.warning("a function was ended", call=self._spec.call, record=ended.at, reason=str(ended))
                self._end()
                if ended.at > 0:
                    until = start + ended.at
                    hung_at = until if ended.hung else None
                elif ended.hung or (was_fresh and until == start + 1):
                    self._fail(whole, ended)
                    until, alone_until = count, 0
                elif was_fresh:
                    alone_until = min(start + AT_A_TIME_MAX, count)
                continue
            _add(whole, answers, states)
            if answers.given_up is not None:
                return whole
            if len(answers.errors) < len(answers.results):
                self._bad_in_a_row = 0
            if hung_at == until:
                self._fail(whole, _ChildEndedError(0, f"took longer than {self._timeout_s:g} s", hung=True))
            until = count
        return whole

    def _fail(self, whole: Answers, ended: _ChildEndedError) -> None:
        """The next record is one that nothing can be done about; too many of them, and the function is broken."""
        whole.errors[len(whole.results)] = Error(str(ended), 1)
        whole.results.append([])
        self._bad_in_a_row += 1
        wasted_s = self._bad_in_a_row * self._timeout_s if ended.hung else 0.0
        if wasted_s >= WASTED_S_MAX or self._bad_in_a_row >= BAD_IN_A_ROW_MAX:
            raise BrokenFunctionError(
                f"{self._spec.call} fails on {self._bad_in_a_row} records in a row: it {ended}. They wait where they "
                f"are: correct it and run the flow again"
            )

    def close(self) -> None:
        self._is_closed = True
        if self._child is not None:
            self._child.kill()  # lets a call that is under way return
        with self._busy:
            self._end()

    @property
    def _timeout_s(self) -> float:
        return self._spec.timeout_ms / 1_000

    def _running(self) -> "_Child":
        if self._is_closed:
            raise ClosedError(self._spec.call)
        if self._child is None:
            self._child = _Child(self._spec, self._allow, self._params)
            if self._is_closed:
                self._child.kill()
            try:
                self._child.await_start(self._params.start_s)
            except FunctionError as error:
                self._end()
                raise (ClosedError(self._spec.call) if self._is_closed else error) from None
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class _Child:
    """One process. Its leash is tied to the thread that makes it."""

    def __init__(self, spec: specs.Python, allow: Sequence[str], params: IsolationParams) -> None:
        self.is_fresh = True
        self._params = params
        self._progress = Progress()
        self._line, theirs = socket.socketpair()
        self._line.settimeout(LOOK_EVERY_S)
        command = [sys.executable, "-m", "services.isolated.child", f"--socket={theirs.fileno()}"]
        command += [f"--progress={self._progress.descriptor}", f"--memory={params.memory_bytes}"]
        command += [f"--allow={each}" for each in allow] + [msgspec.json.encode(spec).decode()]
        with theirs:
            self._process = subprocess.Popen(
                leashed(command),
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), self._progress.descriptor),
                start_new_session=True,
            )

    def await_start(self, patience_s: float) -> None:
        """Raises FunctionError."""
        try:
            started = unpacked(self._receive(patience_s), Started)
        except _ChildEndedError as ended:
            raise FunctionError(f"its process did not come up: {ended}") from ended
        if started.problem is not None:
            raise FunctionError(started.problem)

    def exchange(self, chunk: Chunk, patience_s: float) -> Answers:
        """Raises _ChildEndedError if it dies, or is at one record for longer than this."""
        self._progress.done = 0
        self._send(packed(chunk), patience_s)
        answers: Answers = unpacked(self._receive(patience_s), Answers)
        self.is_fresh = False
        return answers

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        self.kill()
        self._process.wait()
        self._line.close()
        self._progress.close()

    def _send(self, message: bytes, patience_s: float) -> None:
        view = memoryview(message)
        watch = _Watch(self, patience_s)
        while view:
            try:
                view = view[self._line.send(view) :]
            except TimeoutError:
                watch.look()
            except OSError:
                raise self._ended() from None

    def _receive(self, patience_s: float) -> bytearray:
        watch = _Watch(self, patience_s)
        return self._bytes(length(self._bytes(LENGTH_BYTES, watch)), watch)

    def _bytes(self, count: int, watch: "_Watch") -> bytearray:
        body = bytearray(count)
        view = memoryview(body)
        while view:
            try:
                got = self._line.recv_into(view)
            except TimeoutError:
                watch.look()
                continue
            except OSError:
                got = 0
            if not got:
                raise self._ended()
            view = view[got:]
        return body

    @property
    def done(self) -> int:
        return self._progress.done

    def _ended(self) -> _ChildEndedError:
        at = self._progress.done
        try:
            code = self._process.wait(ENDING_S_MAX)
        except subprocess.TimeoutExpired:
            return _ChildEndedError(at, "closed its connection to the host without ending", hung=False)
        if code == EXIT_MEMORY:
            return _ChildEndedError(at, f"took more than {self._params.memory_bytes >> 20} MB of memory", hung=False)
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return _ChildEndedError(at, f"its process ended {how}", hung=False)


class _Watch:
    """Over one exchange: how long the child has been at the same record. When a host is frozen, so is its child: time
    in which nobody looked does not count.
    """

    def __init__(self, child: _Child, patience_s: float) -> None:
        self._child = child
        self._patience_s = patience_s
        self._done = child.done
        self._watched_s = 0.0
        self._looked_s = time.monotonic()

    def look(self) -> None:
        done, now_s = self._child.done, time.monotonic()
        self._watched_s += min(now_s - self._looked_s, LOOK_S_MAX)
        self._looked_s = now_s
        if done != self._done:
            self._done, self._watched_s = done, 0.0
        elif self._watched_s > self._patience_s:
            raise _ChildEndedError(done, f"took longer than {self._patience_s:g} s", hung=True)


def _add(whole: Answers, answers: Answers, states: list[bytes | None]) -> None:
    """Answers for the next records."""
    first = len(whole.results)
    whole.results += answers.results
    whole.errors |= {first + i: error for i, error in answers.errors.items()}
    whole.states |= answers.states
    whole.given_up = answers.given_up
    for group, state in answers.states.items():
        states[group] = state
