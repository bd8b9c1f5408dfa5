"""`stigmergy up`: starts Kafka, Redis and all that runs on them, and stays until it is told to stop.

With --detach a copy of this command runs in the background, and this one returns when that is ready.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Self

import structlog
import typer

from services.cli.detach import start_detached
from services.cli.download import download_bar
from services.cli.options import AsJson, HomeOption, SilentOption
from services.cli.screen import busy, errors
from services.cli.stack_screen import print_stack, show_differences, show_stack
from services.demo.furnish import demo_world, furnish_demo
from services.embedded.furniture import compare_topics, make_topics
from services.embedded.record import StackRecord, read_record
from services.embedded.stack import EmbeddedStack, StackParams, kafka_class_path
from services.embedded.world_file import load_world
from services.embedded.world_hosts import furnish_world
from services.logs import configure_logs
from services.modelling.furnish import furnish_modelling
from services.placement.furnish import furnish_placement
from services.settings import Settings, load_settings
from topics.admin import Difference

app = typer.Typer()


@app.command()
def up(
    *,
    home: HomeOption = None,
    brokers: Annotated[int | None, typer.Option(help="Embedded Kafka brokers, each in a region of its own.")] = None,
    world: Annotated[
        Path | None, typer.Option(help="Play a world: its regions, hosts and ways.", dir_okay=False)
    ] = None,
    bootstrap: Annotated[str | None, typer.Option(help="Your own Kafka, as host:port; none is started then.")] = None,
    redis_url: Annotated[str | None, typer.Option(help="Your own Redis; none is started then.")] = None,
    kafka_home: Annotated[Path | None, typer.Option(help="An unpacked Kafka 4 to run.", file_okay=False)] = None,
    demo: Annotated[
        bool | None, typer.Option("--demo/--no-demo", help="Run the demo too.", show_default="demo")
    ] = None,
    models: Annotated[
        bool | None,
        typer.Option("--models/--no-models", help="Run the modelling service too.", show_default="models"),
    ] = None,
    models_master: Annotated[
        str | None, typer.Option(help="Its Spark: local[CORES] or spark://HOST:PORT.", show_default="local[*]")
    ] = None,
    silent: SilentOption = None,
    detach: Annotated[bool, typer.Option("--detach", help="Return when all is ready; it runs on.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start Kafka, Redis and the services on them; Ctrl-C (or stigmergy down) stops all of it."""
    flags = {
        "home": home,
        "brokers": brokers,
        "world": world,
        "bootstrap": bootstrap,
        "redis_url": redis_url,
        "kafka_home": kafka_home,
        "demo": demo,
        "models": models,
        "models_master": models_master,
        "silent_s": silent,
    }
    settings = load_settings(flags).settings
    configure_logs(settings.log_level, settings.log_format)
    _fetch(settings)
    if detach:
        with busy("starting"):
            record = start_detached(settings)
            differences = compare_topics(record.bootstrap)
        show_differences(differences)
        _announce(record, settings.home, as_json=as_json, detached=True)
    else:
        _in_foreground(settings, as_json=as_json)


def _fetch(settings: Settings) -> None:
    """Fetches Kafka if need be, here, where somebody sees the bar."""
    params = stack_params(settings)
    if params.bootstrap is None:
        with download_bar() as on_progress:
            kafka_class_path(params, on_progress)


def _in_foreground(settings: Settings, *, as_json: bool) -> None:
    log = structlog.get_logger()
    differences: list[Difference] = []
    params = stack_params(settings)

    def furnish(stack: EmbeddedStack) -> None:
        differences.extend(make_topics(stack.bootstrap))
        if settings.world is not None:
            assert params.world is not None
            furnish_world(stack, params.world)
        elif settings.demo:
            furnish_demo(stack)
        if params.world is not None or settings.demo:
            furnish_placement(stack)
            if settings.models:
                furnish_modelling(stack, settings.models_master)

    with stop_signals_interrupt(), _Progress(log.info) as progress:
        try:
            with EmbeddedStack(params, furnish=furnish, on_event=progress.tell) as stack:
                progress.end()
                record = read_record(stack.home.record)
                assert record is not None
                show_differences(differences)
                _announce(record, settings.home, as_json=as_json, detached=False)
                stack.wait()
        except KeyboardInterrupt:
            log.info("stopped")


class _Progress:
    """On a terminal, one line that says what happens until all is ready; otherwise, and afterwards, the log."""

    def __init__(self, log: Callable[[str], object]) -> None:
        self._log = log
        self._status = errors.status("starting") if errors.is_terminal else None

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *fault: object) -> None:
        self.end()

    def tell(self, what: str) -> None:
        """Shows one event."""
        if self._status is not None:
            self._status.update(f"starting: {what}")
        else:
            self._log(what)

    def end(self) -> None:
        """All is ready: what comes now is news, and goes to the log."""
        if self._status is not None:
            self._status.stop()
            self._status = None


def _announce(record: StackRecord, home: Path, *, as_json: bool, detached: bool) -> None:
    if as_json:
        print_stack(record)
    else:
        show_stack(record, home, detached=detached)


def stack_params(settings: Settings) -> StackParams:
    """The part of the settings that the embedded stack needs."""
    world = load_world(settings.world) if settings.world is not None else None
    if world is None and settings.demo and settings.bootstrap is None and settings.brokers == 1:
        world = demo_world()
    return StackParams(
        home=settings.home,
        brokers=len(world.brokers) if world is not None else settings.brokers,
        world=world,
        bootstrap=settings.bootstrap,
        redis_url=settings.redis_url,
        kafka_home=settings.kafka_home,
        cache=settings.cache,
        silent_s=settings.silent_s,
        return_s=settings.return_s,
    )


@contextmanager
def stop_signals_interrupt() -> Iterator[None]:
    """Lets SIGTERM and a closed terminal do what Ctrl-C does."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
