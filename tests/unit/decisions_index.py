"""The table of all decision records in docs/decisions/README.md.

To write it anew: `.venv/bin/python -m tests.unit.decisions_index`.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
PAGE = FOLDER / "README.md"
HEAD = "| number | title |\n|---|---|\n"
TITLE = re.compile(r"# \d+[:.]? (?P<title>.+)")


def index() -> str:
    """One row a record, by number; its title is its first line."""
    rows = []
    for record in sorted(FOLDER.glob("[0-9]*.md")):
        first, *_ = record.read_text().splitlines()
        found = TITLE.fullmatch(first)
        assert found is not None, f"{record.name} begins with {first!r}, expected '# NUMBER: TITLE'"
        rows.append(f"| [{record.name[:4]}]({record.name}) | {found['title'].replace('|', '&#124;')} |\n")
    return HEAD + "".join(rows)


def main() -> None:
    """Puts the table in place of the one that is there."""
    before, _, _ = PAGE.read_text().partition(HEAD)
    PAGE.write_text(before + index())


if __name__ == "__main__":
    main()
