"""`stigmergy simulate`: run the brain on a virtual clock, check it all along, and look at what it did."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from services.cli.exits import ExitCode
from services.cli.options import AsJson
from services.cli.screen import console, errors, print_json, show_error

app = typer.Typer(help="Run the brain in the simulator and look at what it does.", no_args_is_help=True)

Seeds = Annotated[int, typer.Option(min=1, help="How many runs, one a seed.")]
FirstSeed = Annotated[int, typer.Option(min=0, help="The first seed.")]
TraceFile = Annotated[Path | None, typer.Option("--trace", help="Write every event to this file, one JSON a line.")]


@app.callback()
def simulate() -> None:
    """Run the brain in the simulator and look at what it does."""


@app.command()
def life(seeds: Seeds = 10, first_seed: FirstSeed = 1, trace: TraceFile = None, as_json: AsJson = False) -> None:
    """Flows come and go, hosts and links die and return; after every event the invariants are checked."""
    from placement.simulator.invariants import BrokenInvariantError
    from placement.simulator.scenario import Scenario, live
    from services.lab.chance import seeded
    from services.lab.tracing import trace_file

    lives: list[dict[str, object]] = []
    broken = 0
    with Progress(console=errors, transient=True) as progress, trace_file(trace) as observer:
        for seed in progress.track(range(first_seed, first_seed + seeds), description="lives"):
            try:
                outcome = live(Scenario(seed), seeded(seed), observer=observer)
            except BrokenInvariantError as error:
                broken += 1
                show_error(f"seed {seed}: {error}", "run that command with --trace FILE to see every event before it")
                lives.append({"seed": seed, "broken": str(error)})
                continue
            told = {"placed": outcome.placed, "moves": outcome.moves, "lost_messages": outcome.lost_messages}
            lives.append({"seed": seed, "broken": None, **told, "events": outcome.events})
            if not as_json:
                console.print(
                    f"seed {seed}: {outcome.placed} flows placed, {outcome.moves} moves, "
                    f"{outcome.lost_messages} messages lost, {outcome.events} events"
                )
    if as_json:
        print_json({"lives": lives, "broken": broken})
    elif not broken:
        console.print(f"{seeds} lives, no invariant broken")
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
    from services.lab.placing_run import PlacingRun
    from services.lab.tracing import trace_file

    if rules not in ("ants", "paper"):
        show_error(f"no rules {rules!r}", "choose ants or paper")
        raise typer.Exit(ExitCode.USAGE)
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
