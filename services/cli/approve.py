"""`stigmergy approve`: says yes to exactly one plan."""

from typing import Annotated

import typer
from rich.text import Text

from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.exits import ExitCode
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, print_json, show_error
from services.registry.asking import ask, wait_answer
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry
from topics import catalogue

app = typer.Typer()


@app.command()
def approve(
    hash: Annotated[str, typer.Argument(help="The plan's hash, as stigmergy plan shows it.")],
    *,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds to wait for the answer.")] = 20.0,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Carry out exactly this plan; refused, with what changed, if conditions have changed since."""
    address = bootstrap_of(bootstrap, home)
    view = read_registry(address, catalogue.PROPOSALS)
    plans = [*view.plans.values(), *view.proposals.values()]
    flow = next((plan.flow for plan in plans if plan.hash == hash), None)
    if flow is None:
        named = sorted((plan.flow, plan.hash) for plan in plans if plan.hosts)
        known = ", ".join(f"{each} ({name})" for name, each in named) or "there is none"
        raise RegistryError(f"no flow's newest plan is {hash}", f"the newest plans: {known}")
    with busy("waiting for the placement service"):
        answer = wait_answer(address, ask(address, "approve", flow, hash=hash), timeout_s=timeout_s)
    if as_json:
        print_json({"flow": flow, "hash": hash, "answer": answer.kind, "why": answer.why})
    elif answer.kind == "refused":
        show_error(f"plan {hash} is not carried out: {answer.why}", f"look again with stigmergy plan {flow}")
    else:
        done = f" is carried out for {flow}: {answer.what}"
        console.print(Text.assemble(("✓ ", "bold green"), (f"plan {hash}", "bold"), done), soft_wrap=True)
    if answer.kind == "refused":
        raise typer.Exit(ExitCode.FAILURE)
