"""The environment of Quix Streams and Bytewax, made on demand in the user's cache: their pins conflict with ours."""

import hashlib
import subprocess
import sys
from pathlib import Path

from services.embedded.spawn import leashed
from services.lab.dataplane.ground import BenchError, Say

LOCK = Path(__file__).parents[3] / "requirements" / "bench.lock"


def environment(cache: Path, say: Say) -> str:
    """The Python of an environment with all that the lock file says, hashes checked. Raises BenchError."""
    if not LOCK.exists():
        raise BenchError(f"{LOCK} is not there; run the bench from a clone of the repository")
    folder = cache / "bench" / f"venv-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    python, stamp = folder / "bin" / "python", folder / "complete"
    if not stamp.exists():
        say("installing Quix Streams and Bytewax into an environment of their own")
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        _run([*pip, "--require-hashes", "--no-deps", "-r", str(LOCK)])
        stamp.touch()
    return str(python)


def _run(command: list[str]) -> None:
    done = subprocess.run(leashed(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command[1:4])} failed: {(done.stderr or done.stdout).strip()[-500:]}")
