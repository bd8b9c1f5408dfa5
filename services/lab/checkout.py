"""Which commit the running code is of, for result files, and how old one is: a version stays the same for months."""

import shutil
import subprocess
from pathlib import Path

_HERE = Path(__file__).resolve()


def commit(file: Path = _HERE) -> str | None:
    """The commit, with -dirty if tracked files differ from it; None if the code is no checkout, as when installed.

    Docs may differ: a run of many experiments keeps the results of the first ones there.
    """
    if _git(file, "ls-files", "--error-unmatch", file.name) is None:
        return None  # installed, perhaps below somebody else's checkout
    found = _git(file, "rev-parse", "HEAD")
    changes = _git(file, "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(exclude,top)docs")
    return f"{found}-dirty" if found and changes else found


def commits_since(before: str, folder: str, file: Path = _HERE) -> int | None:
    """How many commits have changed a folder of the checkout since that one; None where nobody can tell."""
    told = _git(file, "rev-list", "--count", f"{before.removesuffix('-dirty')}..HEAD", "--", f":/{folder}")
    return int(told) if told else None


def _git(file: Path, *words: str) -> str | None:
    """What git says of a file's folder; None if there is no git, or it refuses."""
    git = shutil.which("git")
    if git is None:
        return None
    said = subprocess.run([git, "-C", file.parent, *words], capture_output=True, check=False, text=True)
    return said.stdout.strip() if said.returncode == 0 else None
