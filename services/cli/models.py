"""`stigmergy models`: what the modelling service has fitted, how old and how sure each model is, and how right.

`list` and `show` read Redis, and what hosts warn of from its topic; the measured points of a plot come from the metrics
topics.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from redis import Redis
from redis.exceptions import RedisError
from rich.table import Table
from rich.text import Text

from services.cli.cluster import BootstrapOption, bootstrap_of, known_redis
from services.cli.exits import ExitCode
from services.cli.model_words import headline, points_and_curve
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, print_json
from services.cli.small_plot import plot
from services.embedded.errors import NotRunningError, StackError
from services.logs import hide_in_text
from services.modelling.mirror_layout import KINDS
from services.modelling.mirror_read import read_model, read_models
from services.modelling.near_read import is_of_host, warnings_of_hosts
from services.registry.errors import RegistryError
from services.settings import HEAP_MB_MIN, load_settings
from topics.messages import Model, ScoreModel

app = typer.Typer(help="See fitted models, and score them on history.", no_args_is_help=True, add_completion=False)

RedisOption = Annotated[
    str | None, typer.Option("--redis-url", help="Your own Redis.", show_default="the running stack's")
]
ANSWER_TIMEOUT_S = 3.0
HOT_SPOTS = "hotspot"
OLD_S = 15.0
"""A model is made anew every second; this old, its service does not run or what it is about has gone."""
_FIGURES = {
    "wape": "WAPE",
    "naive_wape": "last value's",
    "inside": "within its error",
    "precision": "precision",
    "recall": "recall",
    "lead_s": "lead",
}
"""Of a score, in the order of their columns."""


@app.callback()
def models() -> None:
    """See fitted models, and score them on history."""


@app.command("list")
def list_models(  # noqa: PLR0917 - Typer makes options of them
    kind: Annotated[str | None, typer.Option(help=f"Only this kind: {', '.join(KINDS)}.")] = None,
    name: Annotated[str | None, typer.Option("--of", help="Only models of this flow (links: of this host).")] = None,
    home: HomeOption = None,
    bootstrap: BootstrapOption = None,
    redis_url: RedisOption = None,
    as_json: AsJson = False,
) -> None:
    """List models: what each says in a word, its error, samples and age."""
    if kind is not None and kind not in KINDS:
        raise typer.BadParameter(f"no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    with _redis(redis_url, home) as redis:
        found = _ask(redis, redis_url, lambda: read_models(redis, kind=kind, name=name))
    near, unread = _near(bootstrap, home, name) if kind in (None, HOT_SPOTS) else ([], None)
    found = sorted([*found, *near], key=lambda model: model.key)
    if as_json:
        missing = {"warnings_of_hosts_missing": unread} if unread is not None else {}
        print_json({"models": [{**msgspec.to_builtins(model), "age_s": _age_s(model)} for model in found], **missing})
        return
    if unread is not None:
        console.print(f"(warnings of hosts are missing: {unread})")
    if not found:
        console.print("Redis has no such models. They come some seconds after the first metrics; see stigmergy status.")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("model", "says", "error", "samples", "window", "age"):
        left = column in ("model", "says")
        table.add_column(column, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    for model in found:
        table.add_row(model.key, headline(model), *_trust(model))
    console.print(table)


@app.command()
def show(
    key: Annotated[str, typer.Argument(help="The model's key, as in `models list`.")],
    home: HomeOption = None,
    bootstrap: BootstrapOption = None,
    redis_url: RedisOption = None,
    as_json: AsJson = False,
) -> None:
    """Show one model with all its figures, and its fit beside what was measured."""
    if key.count("/") < 1:
        raise typer.BadParameter(f"{key!r} is no model's key; it looks like rate/FLOW/OPERATOR")
    model = _model_of(key, redis_url, bootstrap, home)
    if model is None:
        console.print(f"There is no model {key}; stigmergy models list shows those that are there.")
        raise typer.Exit(ExitCode.FAILURE)
    if as_json:
        print_json({**msgspec.to_builtins(model), "age_s": _age_s(model)})
        return
    error, samples, window, age = _trust(model)
    console.print(Text.assemble((model.key, "bold"), f"  {headline(model)}"))
    console.print(Text.assemble("error ", error, f", {samples} samples, window {window}, age ", age))
    with busy("reading metrics"):
        lines = _plot(model, bootstrap, home)
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    figures = Table(box=None, show_header=False, pad_edge=False)
    for field, value in msgspec.to_builtins(model.body).items():
        figures.add_row(field, str(value))
    console.print(figures)


@app.command()
def backtest(  # noqa: PLR0917 - Typer makes options of them
    since: Annotated[str, typer.Option("--from", help="Since when, as 2026-01-31T12:00:00 (UTC) or -15m.")] = "-15m",
    until: Annotated[str, typer.Option("--to", help="Until when.")] = "now",
    window: Annotated[
        int | None,
        typer.Option(
            min=10, help="Seconds that models rest on, as the service was told.", show_default="the service's own"
        ),
    ] = None,
    memory_mb: Annotated[
        int | None,
        typer.Option(min=HEAP_MB_MIN, help="Heap of Spark in MB.", show_default="the setting models_heap_mb"),
    ] = None,
    home: HomeOption = None,
    bootstrap: BootstrapOption = None,
    as_json: AsJson = False,
) -> None:
    """Run kept metrics through the same code as a batch, and score every model against what then came."""
    from services.cli.moments import moment_ms
    from services.modelling.backtest import run_backtest
    from services.modelling.params import FitParams

    now_ms = time.time_ns() // 1_000_000
    since_ms, until_ms = moment_ms(since, now_ms), moment_ms(until, now_ms)
    if since_ms >= until_ms:
        raise typer.BadParameter(f"--from {since} is not before --to {until}")
    address = bootstrap_of(bootstrap, home)
    heap_mb = memory_mb or load_settings().settings.models_heap_mb
    with busy("summing kept metrics by Spark"):
        fits = FitParams() if window is None else FitParams(window_s=window)
        found = run_backtest(address, fits, since_ms=since_ms, until_ms=until_ms, memory_mb=heap_mb)
    if not found.scores:
        raise RegistryError(
            "no metrics are kept of that time", "choose another --from and --to; metrics are kept three days"
        )
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    console.print(score_table(found.scores))
    for each in found.assumed:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each.until_ms / 1_000))
        console.print(
            f"{each.flow}: the revision in force until {when} is no longer kept;"
            f" bound and operators of revision {each.revision} stood in for it.",
            soft_wrap=True,
        )


def score_table(scores: Sequence[ScoreModel]) -> Table:
    """One row a score; a figure that none of them has gets no column."""
    shown = [name for name in _FIGURES if any(getattr(score, name) is not None for score in scores)]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("model", "what", "predictions", *(_FIGURES[name] for name in shown)):
        table.add_column(column, justify="left" if column in ("model", "what") else "right", no_wrap=True)
    for score in scores:
        figures = (_seconds(score.lead_s) if name == "lead_s" else _share(getattr(score, name)) for name in shown)
        table.add_row(score.of, score.what, f"{score.predictions:,}", *figures)
    return table


def _model_of(key: str, redis_url: str | None, bootstrap: str | None, home: Path | None) -> Model | None:
    if is_of_host(key):
        near = warnings_of_hosts(bootstrap_of(bootstrap, home), now_ms=time.time_ns() // 1_000_000)
        return next((model for model in near if model.key == key), None)
    with _redis(redis_url, home) as redis:
        found: Model | None = _ask(redis, redis_url, lambda: read_model(redis, key))
    return found


def _near(bootstrap: str | None, home: Path | None, flow: str | None) -> tuple[list[Model], str | None]:
    """What hosts warn of, or why nobody knows."""
    try:
        address = bootstrap_of(bootstrap, home)
        return warnings_of_hosts(address, now_ms=time.time_ns() // 1_000_000, flow=flow), None
    except (NotRunningError, RegistryError) as fault:
        return [], fault.what


def _redis(redis_url: str | None, home: Path | None) -> "Redis":
    url = known_redis(redis_url, home)
    if url is None:
        raise NotRunningError("no Redis is known", "start one with stigmergy up, or name yours with --redis-url")
    return Redis.from_url(url, socket_timeout=ANSWER_TIMEOUT_S, socket_connect_timeout=ANSWER_TIMEOUT_S)


def _ask(redis: "Redis", url: str | None, question: Any) -> Any:
    try:
        return question()
    except (RedisError, OSError) as fault:
        where = hide_in_text(url) if url else "the stack's address"
        raise StackError(f"no Redis answers at {where}: {fault}", "see stigmergy status") from fault


def _plot(model: Model, bootstrap: str | None, home: Path | None) -> Sequence[str]:
    try:
        drawn = points_and_curve(model, bootstrap_of(bootstrap, home))
    except (NotRunningError, RegistryError) as fault:
        return [f"(no plot: {fault.what})"]
    return plot(drawn.points, drawn.curve, until=drawn.until, x_unit=drawn.x_unit, y_unit=drawn.y_unit) if drawn else []


def _age_s(model: Model) -> float:
    """Since the last second that it knows was over."""
    return round(max(0.0, time.time() - model.second - 1), 1)


def _trust(model: Model) -> tuple[str, str, str, Text]:
    age_s = _age_s(model)
    age = Text(f"{age_s:.0f} s", "red" if age_s > OLD_S else "")
    return _share(model.error), f"{model.samples:,}", f"{model.window_s} s", age


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
