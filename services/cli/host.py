"""`stigmergy host`: runs one host in the foreground."""

from pathlib import Path
from typing import Annotated

import typer

from services.cli.cluster import BootstrapOption, bootstrap_of, known_redis
from services.cli.options import HomeOption, PortOption, SilentOption
from services.cluster_key import read_key
from services.embedded.home import Home
from services.settings import check_host_name, load_settings

app = typer.Typer()

_ALLOW_HELP = "A module prefix or folder that python operators may load from; may be given several times."


@app.command()
def host(
    *,
    name: Annotated[str, typer.Option(envvar="STIGMERGY_NAME", help="The host's name, unique in the cluster.")],
    region: Annotated[str, typer.Option(envvar="STIGMERGY_REGION", help="Where it stands.")] = "local",
    capacity: Annotated[float | None, typer.Option(min=0.001, help="Relative speed.", show_default="measured")] = None,
    allow: Annotated[list[str] | None, typer.Option(help=_ALLOW_HELP)] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="File with the cluster's key.", show_default="the running stack's")
    ] = None,
    silent: SilentOption = None,
    port: PortOption = None,
    state_folder: Annotated[
        Path | None, typer.Option(help="For flows with state: disk.", show_default="a temporary folder")
    ] = None,
    memory_limit: Annotated[
        int | None, typer.Option(min=64, help="MB; above it standbys rest, then the largest state is parked.")
    ] = None,
    function_memory: Annotated[
        int, typer.Option(min=64, help="MB that each python operator's process may take.")
    ] = 512,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
) -> None:
    """Run a host until Ctrl-C: it takes the segments that the registry gives it, and drains them at the end."""
    check_host_name(name)
    settings = load_settings({"home": home, "cluster_key_file": key_file, "silent_s": silent}).settings
    key_place = settings.cluster_key_file or Home(settings.home).key
    key = read_key(key_place if key_file is not None else None, otherwise=key_place)
    address = bootstrap_of(bootstrap, home)
    redis_url = known_redis(None, home)
    from services.host.calibration import calibrate
    from services.host.cell.service import CellParams
    from services.host.host import HostParams
    from services.host.main import run_host, software
    from services.host.memory import TEMPORARY
    from services.isolated.caller import IsolationParams
    from services.logs import configure_service_logs

    configure_service_logs(settings.log_level, settings.log_format)
    params = HostParams(
        name=name,
        region=region,
        capacity=capacity if capacity is not None else calibrate(),
        bootstrap=address,
        key=key,
        allow=tuple(allow or ()),
        port=port,
        listen=settings.listen,
        software=software(),
        cell=CellParams(silent_ms=settings.silent_s * 1e3, redis_url=redis_url),
        memory_limit_bytes=memory_limit << 20 if memory_limit is not None else None,
        isolation=IsolationParams(memory_bytes=function_memory << 20),
        state_folder=state_folder or TEMPORARY,
    )
    raise typer.Exit(run_host(params))
