"""`stigmergy simulate`: run the brain on a virtual clock, check it all along, and look at what it did."""

import dataclasses
import shlex
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from services.cli.exits import ExitCode
from services.cli.options import AsJson
from services.cli.outputs import NotWritableError, refuse, require_writable
from services.cli.screen import console, errors, print_json, show_error

app = typer.Typer(help="Run the brain in the simulator and look at what it does.", no_args_is_help=True)

Seeds = Annotated[int, typer.Option(min=1, help="How many runs, one a seed.")]
FirstSeed = Annotated[int, typer.Option(min=0, help="The first seed.")]
TraceFile = Annotated[Path | None, typer.Option("--trace", help="Write every event to this file, one JSON a line.")]


@app.callback()
def simulate() -> None:
    """Run the brain in the simulator and look at what it does."""


@app.command()
def life(  # noqa: PLR0917 - Typer makes options of them
    seeds: Seeds = 10,
    first_seed: FirstSeed = 1,
    jobs: Annotated[int, typer.Option(min=1, help="How many lives run at the same time.")] = 1,
    scenario: Annotated[str, typer.Option(help="Which kind of life; a failing test names its own.")] = "usual",
    trace: TraceFile = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the results to this file.")] = None,
) -> None:
    """Flows come and go, hosts and links die and return; hosts are checked after every event, all after a decision."""
    from placement.simulator.scenarios import SCENARIOS
    from services.lab.checkout import commit
    from services.lab.lives import Life, life_rows, lives
    from services.lab.results import results, write
    from services.lab.tracing import trace_file

    if scenario not in SCENARIOS:
        show_error(f"no scenario {scenario!r}", f"choose one of {', '.join(SCENARIOS)}")
        raise typer.Exit(ExitCode.USAGE)
    if trace is not None and jobs > 1:
        show_error("--trace writes one life after the other", "leave --jobs out, or --trace")
        raise typer.Exit(ExitCode.USAGE)
    try:
        for file in (trace, json_file):
            require_writable(file, None)
    except NotWritableError as error:
        refuse(error)
    began_at = commit()
    found: list[Life] = []
    chosen = range(first_seed, first_seed + seeds)
    with (
        Progress(console=errors, transient=True) as progress,
        trace_file(trace) as observer,
        closing(lives(chosen, scenario=scenario, jobs=jobs, observer=observer)) as all_lives,
    ):
        task = progress.add_task("lives", total=seeds)
        for one in all_lives:
            found.append(one)
            progress.update(task, advance=1)
            if one.outcome is None:
                show_error(
                    f"seed {one.seed}: {one.broken}", "run that command with --trace FILE to see every event before it"
                )
    broken = sum(one.outcome is None for one in found)
    ended = [one.outcome for one in found if one.outcome is not None]
    sums = {name: sum(getattr(one, name) for one in ended) for name in ("placed", "moves", "lost_messages", "events")}
    console.print(
        f"{seeds} lives, {broken or 'no'} broken: {sums['placed']} flows placed, {sums['moves']} moves, "
        f"{sums['lost_messages']} messages lost, {sums['events']} events checked"
    )
    if json_file is not None:
        words = ["stigmergy", "simulate", "life", "--scenario", scenario, "--seeds", str(seeds)]
        command = shlex.join([*words, "--first-seed", str(first_seed)])
        write(results(command, life_rows(found, scenario), seeds=list(chosen), began_at=began_at), json_file)
    if broken:
        raise typer.Exit(ExitCode.FAILURE)


@app.command()
def place(  # noqa: PLR0917 - Typer makes options of them
    tasks: Annotated[int, typer.Option(min=1, max=12, help="Tasks of the query.")] = 6,
    load: Annotated[float, typer.Option(min=0, max=0.45, help="Mean load of the hosts beforehand.")] = 0.4,
    rules: Annotated[str, typer.Option(help="ants or paper.")] = "ants",
    first_seed: FirstSeed = 1,
    topology: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="CSV of round trips, or GML.")
    ] = None,
    trace: TraceFile = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the pheromone on the map over time into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Place one random query and show what it cost; the pheromone can be drawn as it grows."""
    from services.lab.matrices import TopologyError
    from services.lab.placing_run import PlacingRun
    from services.lab.plots import NoPlotLibraryError
    from services.lab.topologies import remarks
    from services.lab.tracing import trace_file

    if rules not in ("ants", "paper"):
        show_error(f"no rules {rules!r}", "choose ants or paper")
        raise typer.Exit(ExitCode.USAGE)
    try:
        require_writable(trace, plot)
        for remark in remarks(topology) if topology is not None else ():
            errors.print(f"{topology}: {remark}", soft_wrap=True)
    except (NotWritableError, NoPlotLibraryError, TopologyError) as error:
        refuse(error)
    with trace_file(trace) as observer:
        run = PlacingRun(tasks=tasks, load=load, rules=rules, seed=first_seed, topology=topology, observer=observer)
        told = run.go(moments=4 if plot else 0)
    if as_json:
        print_json(dataclasses.asdict(told))
    else:
        for line in told.lines():
            console.print(line)
    if plot is not None:
        from services.lab.plots import plot_pheromone

        plot_pheromone(run.network, run.moments, plot)
