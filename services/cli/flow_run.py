"""`stigmergy flow run`: try a flow on files of records, in this process, without a broker.

Records go in as JSON lines and results come out as JSON lines, so it fits into a pipe. Beside the results it says what
did not become one: late records, undecodable ones, and those that an operator gave up (dead).
"""

import sys
import time
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
import typer
from rich.console import Console
from rich.markup import escape

from services.cli.exits import ExitCode
from services.cli.record_files import Folder, InputError, Lines, Writer, assign, batches, open_input, shown
from services.operators.collector import collect_rarely
from services.operators.failure import Failure
from services.operators.functions import FunctionError
from services.operators.run import FlowRun
from topics.flow.file import load_graph
from topics.flow.problems import FlowError

SHOWN_FAILURES_MAX = 5

_INPUT_HELP = "Records as JSON lines: FILE, or - for standard input. With several sources SOURCE=FILE for each."
_OUTPUT_HELP = "Write SINK.jsonl (values alone), _late.jsonl and _dead-letters.jsonl to this folder."
_ALLOW_HELP = "A module prefix or folder that python operators may load from. Default: the flow file's folder."


def run(
    file: Annotated[Path, typer.Argument(help="The flow file.", exists=True, dir_okay=False)],
    *,
    inputs: Annotated[list[str], typer.Option("--input", "-i", help=_INPUT_HELP)],
    output: Annotated[Path | None, typer.Option("--output", "-o", file_okay=False, help=_OUTPUT_HELP)] = None,
    allow: Annotated[list[str] | None, typer.Option(help=_ALLOW_HELP)] = None,
    keep_open: Annotated[bool, typer.Option("--keep-open", help="Leave windows open at the end of the input.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a flow in this process on files of records; results go to standard output, a summary to standard error."""
    console = Console(stderr=True, highlight=False)
    try:
        with ExitStack() as stack:
            graph = load_graph(file)
            paths = assign([source.name for source in graph.spec.sources], inputs)
            opened = {name: stack.enter_context(open_input(path)) for name, path in paths.items()}
            writer: Writer = Lines(sys.stdout.buffer)
            if output is not None:
                writer = Folder(output, [sink.name for sink in graph.spec.sinks], stack)
            collect_rarely()
            with redirect_stdout(sys.stderr):  # What a user's function prints is no result.
                flow = FlowRun(graph, writer.results, allow=allow or [f"{file.resolve().parent}/"])
                failures = _feed(flow, opened, writer, keep_open=keep_open)
            sys.stdout.flush()
    except BrokenPipeError:  # Whoever read our results has seen enough.
        sys.stderr.close()
        raise typer.Exit(ExitCode.OK) from None
    except FlowError as error:
        console.print(escape(str(error)), soft_wrap=True)
        raise typer.Exit(ExitCode.FAILURE) from None
    except (FunctionError, InputError, OSError) as error:
        console.print(f"[red]error:[/] {escape(str(error))}", soft_wrap=True)
        raise typer.Exit(ExitCode.USAGE if isinstance(error, InputError) else ExitCode.FAILURE) from None
    _summary(flow, failures, console, as_json=as_json, has_folder=output is not None)


def _feed(flow: FlowRun, opened: dict[str, BinaryIO], writer: Writer, *, keep_open: bool) -> list[Failure]:
    """Read the sources in turn, a batch from each, until all are at their end. Returns the first failures."""
    first: list[Failure] = []

    def set_aside() -> None:
        for source, late in flow.take_late():
            writer.late(source, late)
        if failures := flow.take_failures():
            first.extend(failures[: SHOWN_FAILURES_MAX - len(first)])
            writer.failures(failures)

    unread = {name: batches(stream) for name, stream in opened.items()}
    while unread:
        for name in list(unread):
            raws = next(unread[name], None)
            if raws is not None:
                flow.feed(name, raws, now_ms=time.time_ns() // 1_000_000)
            else:
                del unread[name]
                if not keep_open:
                    flow.end(name)
            set_aside()
    return first


def _summary(flow: FlowRun, failures: list[Failure], console: Console, *, as_json: bool, has_folder: bool) -> None:
    counts = flow.counts
    if as_json:
        summary = {**msgspec.to_builtins(counts), "failures": [shown(failure) for failure in failures]}
        sys.stderr.write(msgspec.json.encode(summary).decode() + "\n")
        return
    for failure in failures:
        record = shown(failure)["record"]
        at = "a computed record" if record is None else f"record {record}"
        console.print(f"[yellow]{escape(failure.operator)}[/], {at}: {escape(failure.error)}", soft_wrap=True)
    more = counts.undecodable + counts.dead - len(failures)
    if more > 0:
        where = "see _dead-letters.jsonl" if has_folder else "--output DIR keeps them all in _dead-letters.jsonl"
        console.print(f"... and {more} more; {where}")
    written = ", ".join(f"{count} to {sink}" for sink, count in counts.written.items())
    console.print(
        f"{counts.read} read, {written}, {counts.late} late, {counts.undecodable} undecodable, {counts.dead} dead",
        soft_wrap=True,
    )
