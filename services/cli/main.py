"""`stigmergy`: the entry point. Each command is a module of this folder with a Typer `app`; COMMANDS lists them.

A command's module is imported only when the command is used, so that small commands answer at once.
"""

import difflib
import errno
import importlib
import sys

import typer
from typer.core import TyperGroup

from services.cli.exits import ExitCode, exit_code_table

COMMANDS = {
    "up": "services.cli.up",
    "down": "services.cli.down",
    "status": "services.cli.status",
    "doctor": "services.cli.doctor",
    "flow": "services.cli.flow",
    "submit": "services.cli.submit",
    "plan": "services.cli.plan",
    "approve": "services.cli.approve",
    "explain": "services.cli.explain",
    "history": "services.cli.history",
    "whatif": "services.cli.whatif",
    "policy": "services.cli.policy",
    "move": "services.cli.move",
    "drain": "services.cli.drain",
    "run": "services.cli.run",
    "withdraw": "services.cli.withdraw",
    "assign": "services.cli.assign",
    "flows": "services.cli.flows",
    "hosts": "services.cli.hosts",
    "top": "services.cli.top",
    "pheromone": "services.cli.pheromone",
    "models": "services.cli.models",
    "dead-letters": "services.cli.dead_letters",
    "host": "services.cli.host",
    "placement": "services.cli.placement",
    "simulate": "services.cli.simulate",
    "evaluate": "services.cli.evaluate",
    "bench": "services.cli.bench",
    "config": "services.cli.config",
    "version": "services.cli.version",
}

MACHINE_FAULTS = {
    errno.EACCES: "correct the owner or the rights, or choose another --home",
    errno.EPERM: "correct the owner or the rights, or choose another --home",
    errno.EEXIST: "it is a file; choose another --home",
    errno.ENOTDIR: "it lies in a file; choose another --home",
    errno.EROFS: "choose another folder with --home or STIGMERGY_CACHE",
    errno.ENOSPC: "free some space, or choose another folder with --home or STIGMERGY_CACHE",
    errno.EDQUOT: "free some space, or choose another folder with --home or STIGMERGY_CACHE",
}
"""Faults of the machine that a person can mend, with what to do."""

COMPLETION_PARAMS = ("install_completion", "show_completion")
"""Typer gives these to every app; they belong to `stigmergy` itself, not to each command."""


class LazyCommands(TyperGroup):
    """Imports a command's module when the command is asked for."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """In the order in which a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str):  # type: ignore[no-untyped-def,override]
        """The command of this name, or None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(importlib.import_module(COMMANDS[cmd_name]).app)
        command.name = cmd_name
        command.params = [param for param in command.params if param.name not in COMPLETION_PARAMS]
        return command

    def resolve_command(self, ctx: typer.Context, args: list[str]):  # type: ignore[no-untyped-def,override]
        """Typer looks for a name that is near only among commands that are imported already, and none is."""
        near = difflib.get_close_matches(args[0], COMMANDS) if args[0] not in COMMANDS else []
        if near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {', '.join(map(repr, near))}?")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=LazyCommands,
    help="Stream processing on Kafka that finds its own place to run.",
    epilog=exit_code_table(),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def stigmergy() -> None:
    """Stream processing on Kafka that finds its own place to run."""


def main() -> None:
    """Runs a command. A fault of the world or the user is told in plain words, without a traceback."""
    try:
        app()
    except Exception as fault:
        told = _tell(fault)
        if told is None:
            raise
        from services.cli.screen import show_error

        code, what, remedy = told
        show_error(what, remedy)
        sys.exit(code)


def _tell(fault: Exception) -> tuple[ExitCode, str, str] | None:
    """The exit code, what happened and what to do next; None: it is a bug, and its traceback is wanted."""
    from services.embedded.errors import AlreadyRunningError, NotRunningError, StackError
    from services.lab.dataplane.ground import BenchError
    from services.process.health import CannotListenError
    from services.registry.errors import RegistryError
    from services.settings import SettingsError

    table = {
        AlreadyRunningError: ExitCode.ALREADY_RUNNING,
        NotRunningError: ExitCode.NOT_RUNNING,
        StackError: ExitCode.FAILURE,
        SettingsError: ExitCode.USAGE,
        RegistryError: ExitCode.FAILURE,
        CannotListenError: ExitCode.FAILURE,
    }
    if isinstance(fault, StackError | SettingsError | RegistryError | CannotListenError):
        code = next(code for kind, code in table.items() if isinstance(fault, kind))
        return code, fault.what, fault.remedy
    if isinstance(fault, BenchError):
        return ExitCode.FAILURE, str(fault), "let nothing else run on this machine, or ask less of it: see the options"
    if isinstance(fault, OSError) and fault.errno in MACHINE_FAULTS:
        return ExitCode.FAILURE, f"{fault.filename or 'a file'}: {fault.strerror}", MACHINE_FAULTS[fault.errno]
    return None


if __name__ == "__main__":
    main()
