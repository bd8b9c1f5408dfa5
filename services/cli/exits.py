"""The exit codes of `stigmergy`: the one place where they are listed."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command ends with."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_RUNNING = 3
    ALREADY_RUNNING = 4
    NOT_READY = 5


MEANINGS = {
    ExitCode.OK: "done; for status: all is ready",
    ExitCode.FAILURE: "it did not work, or a check found problems; the message says what to do",
    ExitCode.USAGE: "a flag, a setting or an argument is wrong",
    ExitCode.NOT_RUNNING: "nothing runs in this home",
    ExitCode.ALREADY_RUNNING: "a stack already runs in this home",
    ExitCode.NOT_READY: "something runs, but not all of it is ready",
}


def exit_code_table() -> str:
    """For the end of `stigmergy --help`."""
    return "\n\n".join(["Exit codes:", *(f"{code.value}  {meaning}" for code, meaning in MEANINGS.items())])
