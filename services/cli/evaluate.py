"""`stigmergy evaluate`: one figure or table of the papers, ours beside theirs."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from services.cli.exits import ExitCode
from services.cli.outputs import NotWritableError, refuse, require_writable
from services.cli.screen import console, errors, show_error

if TYPE_CHECKING:
    from services.lab.experiments import Experiment
    from services.lab.results import Results

app = typer.Typer(help="Repeat a figure or table of the papers in the simulator, our numbers beside theirs.")


@app.command()
def evaluate(  # noqa: PLR0917 - Typer makes options of them
    name: Annotated[str, typer.Argument(help="Which experiment; --list shows all.")] = "",
    list_all: Annotated[bool, typer.Option("--list", help="Show all experiments.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds; each experiment has its default.")] = None,
    first_seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="How many seeds run at the same time.")] = 1,
    topology: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Your network: square CSV of round trips in ms, or GML."),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Your series: a folder of CSV files of timestamp,value."),
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the results to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw a plot into this file (png, svg, pdf).")] = None,
) -> None:
    """Repeat a figure or table of the papers in the simulator, our numbers beside theirs."""
    from services.lab.checkout import commit
    from services.lab.data import MissingDataError
    from services.lab.experiments import EXPERIMENTS, Trial
    from services.lab.experiments.experiment import silent
    from services.lab.matrices import TopologyError
    from services.lab.plots import NoPlotLibraryError
    from services.lab.results import results, write
    from services.lab.runner import run
    from services.lab.samples import rows
    from services.lab.series import SeriesError
    from services.lab.series import remarks as remarks_on_series
    from services.lab.topologies import remarks

    if list_all:
        _list(EXPERIMENTS.values())
        return
    if name not in EXPERIMENTS:
        show_error(f"no experiment {name!r}", f"choose one of {', '.join(EXPERIMENTS)}; --list says what each asks")
        raise typer.Exit(ExitCode.USAGE)
    experiment = EXPERIMENTS[name]
    _require_taken(experiment, topology, traces)
    try:
        require_writable(json_file, plot)
        for remark in remarks(topology) if topology is not None else ():
            errors.print(f"{topology}: {remark}", soft_wrap=True)
        for remark in remarks_on_series(traces) if traces is not None else ():
            errors.print(remark, soft_wrap=True)
    except (NotWritableError, NoPlotLibraryError, TopologyError) as error:
        refuse(error)
    began_at = commit()
    chosen = range(first_seed, first_seed + (seeds or experiment.seeds))
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task(name, total=len(chosen))

        def say(what: str) -> None:
            progress.update(task, description=f"{name}, {what}")

        # Another process can't be handed what writes on this one's screen.
        trials = [Trial(seed, topology, traces, say if jobs == 1 else silent) for seed in chosen]
        try:
            samples = run(name, trials, jobs=jobs, progress=lambda _: progress.update(task, advance=1))
        except (SeriesError, TopologyError, MissingDataError) as error:
            refuse(error)
    words = ["stigmergy", "evaluate", name, "--seeds", str(len(chosen)), "--first-seed", str(first_seed)]
    words += ["--topology", str(topology)] if topology else []
    words += ["--traces", str(traces)] if traces else []
    found = results(shlex.join(words), rows(samples), seeds=list(chosen), began_at=began_at)
    _show(found, experiment)
    if json_file is not None:
        write(found, json_file)
    if plot is not None:
        from services.lab.plots import plot_samples

        plot_samples(samples, plot, title=name, x_label=experiment.x_label, y_label=experiment.y_label)


def _require_taken(experiment: "Experiment", topology: Path | None, traces: Path | None) -> None:
    """What an experiment would ignore is refused: else its numbers pass for those of the user's own files."""
    for given, taken, what, option in (
        (topology, experiment.takes_topology, "network", "--topology"),
        (traces, experiment.takes_traces, "series", "--traces"),
    ):
        if given is not None and not taken:
            show_error(
                f"{experiment.name} takes no {what} of yours",
                f"leave {option} out; --list says what each experiment asks",
            )
            raise typer.Exit(ExitCode.USAGE)


def _show(found: "Results", experiment: "Experiment") -> None:
    table = Table(title=found.command, title_justify="left", caption=f"the paper: {experiment.paper}")
    table.add_column("measure")
    for heading in ("value", "low", "high"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("unit")
    table.add_column("against")
    for row in found.rows:
        numbers = (f"{value:,.4g}" for value in (row.value, *row.spread))
        table.add_row(row.measure, *numbers, row.unit, row.baseline or "")
    console.print(table)


def _list(experiments: Iterable["Experiment"]) -> None:
    table = Table(title="Experiments", title_justify="left")
    table.add_column("name", no_wrap=True)  # to be typed as it stands
    for heading in ("question", "seeds", "the paper"):
        table.add_column(heading)
    for experiment in experiments:
        table.add_row(experiment.name, experiment.question, str(experiment.seeds), experiment.paper)
    console.print(table)
