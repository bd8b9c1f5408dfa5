"""`stigmergy bench`: measure, print, and write what was found for others to read."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from services.cli.outputs import NotWritableError, refuse, require_writable
from services.cli.screen import errors, progress
from services.lab.results import Results, results, write
from services.logs import configure_service_logs
from services.operators.collector import collect_rarely
from services.settings import load_settings

app = typer.Typer(help="Measure what the parts can do on this machine.", no_args_is_help=True)


def _writable(json_file: Path | None) -> Path | None:
    try:
        require_writable(json_file, None)
    except NotWritableError as error:
        refuse(error)
    return json_file


JsonOption = Annotated[
    Path | None, typer.Option("--json", help="Also write the results to this file.", callback=_writable)
]


@app.callback()
def bench() -> None:
    """Measure what the parts can do on this machine."""
    settings = load_settings().settings
    configure_service_logs(settings.log_level, settings.log_format)


@app.command()
def operators(
    records: Annotated[int, typer.Option(min=1_000, help="How many records a run takes.")] = 1_000_000,
    repetitions: Annotated[int, typer.Option(min=1, help="How often both sides run.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed for the records.")] = 1,
    json_file: JsonOption = None,
) -> None:
    """Operators against a hand-written loop: filter -> project -> tumbling count by key, JSON in and out."""
    from services.lab.bench_operators import Params, measure

    collect_rarely()
    with progress("making records") as say:
        rows = measure(
            Params(records=records, repetitions=repetitions, seed=seed),
            progress=say,
        )
    command = f"stigmergy bench operators --records {records} --repetitions {repetitions} --seed {seed}"
    found = results(command, rows, seeds=[seed])
    _show(found, json_file)


@app.command()
def dataplane(
    *,
    only: Annotated[str | None, typer.Option(help="Only these measures, as a,b.", show_default="all")] = None,
    records: Annotated[int, typer.Option(min=10_000, help="How many records wait for each side.")] = 2_000_000,
    repetitions: Annotated[int, typer.Option(min=1, help="How often each side runs.")] = 3,
    seed: Annotated[int, typer.Option(help="Seed for the records.")] = 1,
    sides: Annotated[
        str | None, typer.Option(help="Throughput against these alone, as a,b.", show_default="all")
    ] = None,
    backlog_gb: Annotated[float, typer.Option(min=0.01, help="How much waits for the host of limited memory.")] = 1.0,
    jvm: Annotated[bool, typer.Option("--jvm", help="Also against Kafka Streams and Flink; needs a JDK.")] = False,
    json_file: JsonOption = None,
) -> None:
    """Hosts against plain Faust, Quix Streams, Bytewax and a bare loop: speed, latency, recovery, cost at rest."""
    from services.lab.dataplane.jvm import PROGRAMS
    from services.lab.dataplane.measures import MEASURES, SIDES, Params, measure

    chosen, others = _chosen(only, "measure", MEASURES), _chosen(sides, "side", SIDES)
    if not jvm and (absent := [name for name in others if name in PROGRAMS]):
        raise typer.BadParameter(f"{absent[0]} runs on the JVM; add --jvm (needs a JDK), or leave it out of --sides")
    with progress("starting a broker") as say:
        rows = measure(
            Params(
                records=records,
                repetitions=repetitions,
                seed=seed,
                only=chosen,
                has_jvm=jvm,
                sides=others,
                backlog_gb=backlog_gb,
            ),
            load_settings().settings,
            say=say,
            warn=lambda text: errors.print(Text(text, style="yellow"), soft_wrap=True),
        )
    options = f" --only {','.join(chosen)}" if chosen else ""
    options += f" --backlog-gb {backlog_gb:g}" if "backlog" in chosen else ""
    options += f" --sides '{','.join(others)}'" if others else ""
    command = f"stigmergy bench dataplane{options} --records {records} --repetitions {repetitions} --seed {seed}"
    found = results(command + (" --jvm" if jvm else ""), rows, seeds=[seed])
    _show(found, json_file)


def _chosen(text: str | None, what: str, names: Collection[str]) -> tuple[str, ...]:
    chosen = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    unknown = sorted(set(chosen) - set(names))
    if unknown:
        raise typer.BadParameter(f"no {what} {unknown[0]!r}; the {what}s are {', '.join(names)}")
    return chosen


@app.command()
def moves(
    *,
    keys: Annotated[int, typer.Option(min=1_000, help="Keys of state in each partition.")] = 100_000,
    rate: Annotated[int, typer.Option(min=10, help="Records a second for each partition.")] = 1_000,
    count: Annotated[int, typer.Option("--moves", min=1, help="How often our partition moves.")] = 50,
    others: Annotated[int, typer.Option(min=0, help="How often each other side moves; 0 leaves them out.")] = 3,
    keys_large: Annotated[int, typer.Option(min=0, help="Also move a state of so many keys; 0 leaves it out.")] = 0,
    large_moves: Annotated[int, typer.Option(min=1, help="How many times the large state moves.")] = 10,
    jvm: Annotated[bool, typer.Option("--jvm", help="Also against Kafka Streams with a standby; needs a JDK.")] = False,
    json_file: JsonOption = None,
) -> None:
    """Moves under load: how long a partition pauses, against plain Faust, a bare consumer group and Kafka Streams."""
    from services.lab.moves.measures import Params, measure

    with progress("starting a broker") as say:
        rows = measure(
            Params(
                keys=keys,
                rate_per_s=rate,
                moves=count,
                others_moves=others,
                keys_large=keys_large,
                large_moves=large_moves,
                has_jvm=jvm,
            ),
            load_settings().settings,
            say=say,
            warn=lambda text: errors.print(Text(text, style="yellow"), soft_wrap=True),
        )
    command = f"stigmergy bench moves --keys {keys} --rate {rate} --moves {count} --others {others}"
    command += f" --keys-large {keys_large} --large-moves {large_moves}" if keys_large else ""
    found = results(command + (" --jvm" if jvm else ""), rows, seeds=[])
    _show(found, json_file)


@app.command()
def models(
    *,
    rows: Annotated[int, typer.Option(min=1, help="Metrics rows a second.")] = 2_000,
    operators: Annotated[
        int | None, typer.Option(min=1, help="How many operators they come from.", show_default="one per row")
    ] = None,
    seconds: Annotated[int, typer.Option(min=20, help="How long to feed.")] = 180,
    warm: Annotated[int, typer.Option(min=1, help="Seconds at the beginning that do not count.")] = 60,
    cores: Annotated[int, typer.Option(min=1, help="Cores for Spark.")] = 2,
    master: Annotated[
        str | None, typer.Option(help="A Spark cluster, as spark://HOST:7077.", show_default="none")
    ] = None,
    restarts: Annotated[int, typer.Option(min=0, help="How often to kill -9 the service at the end.")] = 3,
    curve: Annotated[bool, typer.Option("--curve", help="Several loads, on one core and on two.")] = False,
    seed: Annotated[int, typer.Option(help="Seed for the metrics.")] = 1,
    json_file: JsonOption = None,
) -> None:
    """The modelling service: from a metric on its topic to a model in Redis, and what that takes."""
    from services.lab.modelling.curve import measure_curve
    from services.lab.modelling.measures import Params, measure

    params = Params(
        rows=rows,
        operators=operators,
        seconds=seconds,
        warm_s=warm,
        cores=cores,
        master=master,
        restarts=restarts,
        seed=seed,
    )
    settings = load_settings().settings
    with progress("starting a broker") as say:
        if curve:
            found_rows = measure_curve(
                params,
                settings,
                say=say,
                warn=lambda text: errors.print(Text(text, style="yellow"), soft_wrap=True),
            )
        else:
            found_rows = measure(params, settings, say=say)
    load = f" --operators {operators}" if operators is not None else ""
    options = " --curve" if curve else f" --rows {rows}{load} --restarts {restarts}"
    options += f" --master {master}" if master is not None else "" if curve else f" --cores {cores}"
    found = results(f"stigmergy bench models{options} --seconds {seconds} --warm {warm}", found_rows, seeds=[seed])
    _show(found, json_file)


@app.command()
def placement(
    *,
    world: Annotated[
        Path | None,
        typer.Option(help="A world file.", show_default="12 hosts in 4 cities", exists=True, dir_okay=False),
    ] = None,
    flows: Annotated[int, typer.Option(min=1, help="How many flows run at once.")] = 2,
    rate: Annotated[float, typer.Option(min=1, help="Records a second for each flow.")] = 5.0,
    rounds: Annotated[int, typer.Option(min=1, help="How many turns each strategy has.")] = 3,
    seconds: Annotated[float, typer.Option(min=1, help="How long each turn is measured.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Draws the flows' ends, and what the random strategy does.")] = 1,
    json_file: JsonOption = None,
) -> None:
    """Measured latency of the same flows, placed by ants, random, producer, consumer and centralised, in a world."""
    from services.lab.placements.measures import WORLD_FILE, Params, measure

    with progress("starting a world") as say:
        rows = measure(
            Params(
                world_file=world or WORLD_FILE,
                flows=flows,
                rate_per_s=rate,
                rounds=rounds,
                measure_s=seconds,
                seed=seed,
            ),
            load_settings().settings,
            say=say,
            warn=lambda text: errors.print(Text(text, style="yellow"), soft_wrap=True),
        )
    option = f" --world {world}" if world is not None else ""
    command = f"stigmergy bench placement{option} --flows {flows} --rate {rate:g} --rounds {rounds}"
    found = results(f"{command} --seconds {seconds:g} --seed {seed}", rows, seeds=[seed])
    _show(found, json_file)


@app.command()
def cluster(
    *,
    only: Annotated[
        str | None, typer.Option(help="Only these parts of submit,death,herd,traffic.", show_default="all")
    ] = None,
    hosts: Annotated[int, typer.Option(min=2, help="Hosts of submit and death.")] = 6,
    submits: Annotated[int, typer.Option(min=1, help="How many flows are submitted, one after the other.")] = 20,
    deaths: Annotated[int, typer.Option(min=1, help="How often a host is killed.")] = 10,
    keys: Annotated[int, typer.Option(min=1, help="Keys of state in each partition of death's flows.")] = 5_000,
    herd: Annotated[int, typer.Option(min=1, help="How many flows are submitted at once.")] = 100,
    flows: Annotated[int, typer.Option(min=1, help="How many flows share the traffic.")] = 10,
    rate: Annotated[float, typer.Option(min=1, help="Records a second of the traffic, in all.")] = 10_000.0,
    seconds: Annotated[float, typer.Option(min=10, help="How long the traffic is watched.")] = 120.0,
    world: Annotated[
        Path | None,
        typer.Option(
            help="World of herd and traffic.", show_default="12 hosts in 4 cities", exists=True, dir_okay=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the ends of the flows of herd and traffic.")] = 1,
    json_file: JsonOption = None,
) -> None:
    """A cluster as a whole: submit to first result, death of a host, a herd of flows, and what ants cost."""
    from services.lab.cluster.measures import PARTS, Params, measure
    from services.lab.placements.measures import WORLD_FILE

    chosen = _chosen(only, "part", PARTS)
    params = Params(
        only=chosen,
        world_file=world or WORLD_FILE,
        hosts=hosts,
        submits=submits,
        deaths=deaths,
        keys=keys,
        herd_flows=herd,
        flows=flows,
        rate_per_s=rate,
        seconds=seconds,
        seed=seed,
    )
    with progress("starting a cluster") as say:
        rows = measure(
            params,
            load_settings().settings,
            say=say,
            warn=lambda text: errors.print(Text(text, style="yellow"), soft_wrap=True),
        )
    options = {
        "submit": f" --submits {submits}",
        "death": f" --deaths {deaths} --keys {keys}",
        "herd": f" --herd {herd}",
        "traffic": f" --flows {flows} --rate {rate:g} --seconds {seconds:g}",
    }
    command = f"stigmergy bench cluster --only {','.join(params.chosen)}"
    command += f" --hosts {hosts}" if {"submit", "death"} & set(params.chosen) else ""
    command += "".join(options[name] for name in params.chosen) + (f" --world {world}" if world is not None else "")
    _show(results(f"{command} --seed {seed}", rows, seeds=[seed]), json_file)


def _show(found: Results, json_file: Path | None) -> None:
    """To the person, and to the file if there is to be one."""
    Console().print(table(found))
    if json_file is not None:
        write(found, json_file)


def table(found: Results) -> Table:
    """The rows for a person."""
    made = Table(title=found.command, title_justify="left", caption=" · ".join(map(str, found.machine.values())))
    made.add_column("measure")  # where a terminal is narrow the words wrap, never the figures
    for heading in ("median", "low", "high"):
        made.add_column(heading, justify="right", no_wrap=True)
    made.add_column("unit", no_wrap=True)
    for row in found.rows:
        made.add_row(row.measure, *(_number(value) for value in (row.value, *row.spread)), row.unit)
    return made


def _number(value: float) -> str:
    if 0 < value < 0.1:  # a share of half a per cent is not 0.01
        return f"{value:.4f}"
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
