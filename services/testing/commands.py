"""`stigmergy` as a person at a keyboard uses it: the command line of this installation, against the containers."""

import os
import subprocess
import sys
from typing import Any

import msgspec

COMMAND_S_MAX = 330.0
"""Longer than any command waits by itself."""


class CommandError(AssertionError):
    """A command ended with another exit code than 0; `code` is it, `said` what it wrote to the error stream."""

    def __init__(self, command: str, code: int, said: str) -> None:
        super().__init__(f"stigmergy {command} ended with exit code {code}:\n{said}")
        self.code = code
        self.said = said


def run_command(bootstrap: str, *arguments: str) -> Any:
    """Runs `stigmergy ARGUMENTS... --json` against this cluster; what it printed. Raises CommandError."""
    ran = subprocess.run(
        [sys.executable, "-m", "services.cli.main", *arguments, "--json"],
        env=os.environ | {"STIGMERGY_BOOTSTRAP": bootstrap},
        capture_output=True,
        text=True,
        timeout=COMMAND_S_MAX,
        check=False,
    )
    if ran.returncode:
        raise CommandError(" ".join(arguments), ran.returncode, f"{ran.stderr}{ran.stdout}".strip())
    return msgspec.json.decode(ran.stdout)
