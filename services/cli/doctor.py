"""`stigmergy doctor`: checks what Stigmergy needs; each failure comes with its remedy."""

import typer
from rich.text import Text

from services.cli.checks import Finding, Verdict, run_checks
from services.cli.exits import ExitCode
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.logs import hide_in_text
from services.settings import load_settings

app = typer.Typer()

MARKS = {
    Verdict.OK: ("✓", "green"),
    Verdict.WARNING: ("!", "yellow"),
    Verdict.FAILED: ("✗", "bold red"),
    Verdict.SKIPPED: ("-", "dim"),
}


@app.command()
def doctor(home: HomeOption = None, as_json: AsJson = False) -> None:
    """Check Python, Java, ports, disk, memory, clock, broker, Redis, topics, offsets. Exit code 1 when one fails."""
    findings = []
    for finding in run_checks(load_settings({"home": home}).settings):
        findings.append(finding)
        if not as_json:
            _show(finding)
    if as_json:
        print_json(findings)
    if any(finding.verdict is Verdict.FAILED for finding in findings):
        raise typer.Exit(ExitCode.FAILURE)


def _show(finding: Finding) -> None:
    mark, style = MARKS[finding.verdict]
    console.print(Text.assemble((f"{mark} {finding.check:<10}", style), hide_in_text(finding.found)), soft_wrap=True)
    if finding.remedy is not None:
        console.print(Text.assemble(" " * 10, ("do this: ", "bold"), hide_in_text(finding.remedy)), soft_wrap=True)
