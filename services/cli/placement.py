"""`stigmergy placement`: runs one placement instance in the foreground."""

from typing import Annotated

import typer

from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.options import HomeOption, PortOption, SilentOption
from services.settings import load_settings

app = typer.Typer()


@app.command()
def placement(
    *,
    name: Annotated[str, typer.Option(envvar="STIGMERGY_NAME", help="The instance's name.")],
    silent: SilentOption = None,
    port: PortOption = None,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
) -> None:
    """Run a placement instance until Ctrl-C. Run two or more: one is active, the others wait to take over."""
    settings = load_settings({"home": home, "silent_s": silent}).settings
    address = bootstrap_of(bootstrap, home)
    from services.logs import configure_service_logs
    from services.placement.main import run_placement
    from services.placement.params import PlacementParams

    configure_service_logs(settings.log_level, settings.log_format)
    params = PlacementParams(
        name=name,
        bootstrap=address,
        port=port,
        listen=settings.listen,
        silent_s_max=settings.silent_s,
        return_s_max=settings.return_s,
    )
    raise typer.Exit(run_placement(params))
