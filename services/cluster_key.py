"""The cluster's key: what proves that an ant comes from a host of this cluster. Never logged, never on a command line.

It comes from the file that a flag names, from the environment (STIGMERGY_CLUSTER_KEY), or from the file of a setting or
of the stack, in this order. Only its owner reads such a file. `stigmergy up` makes one in its home; hosts on other
machines get a copy of it.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from services.settings import SettingsError
from topics.ants.envelope import KEY_BYTES_MIN

KEY_VARIABLE = "STIGMERGY_CLUSTER_KEY"
_REMEDY = f"name a key file with --key-file, or set {KEY_VARIABLE}; all hosts of a cluster need the same key"


def read_key(
    named: Path | None, environment: Mapping[str, str] | None = None, *, otherwise: Path | None = None
) -> bytes:
    """The key from the file that a flag named, else from the environment, else from the file `otherwise`.

    Raises SettingsError if there is none that can be used.
    """
    given = (os.environ if environment is None else environment).get(KEY_VARIABLE)
    file = named or otherwise
    if given and named is None:
        key, where = given.strip().encode(), KEY_VARIABLE
    elif file is None:
        raise SettingsError("a host needs the cluster's key, and none was given", _REMEDY)
    else:
        where = str(file)
        try:
            key = file.read_bytes().strip()
        except OSError as fault:
            raise SettingsError(f"the cluster's key can't be read from {file}: {fault.strerror}", _REMEDY) from fault
    if len(key) < KEY_BYTES_MIN:
        raise SettingsError(
            f"the cluster's key in {where} has {len(key)} bytes; {KEY_BYTES_MIN} are the least",
            "make one with: openssl rand -hex 32",
        )
    return key


def make_key(file: Path) -> None:
    """Writes a new key, for its owner only; a key that is there stays."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as opened:
        opened.write(secrets.token_hex(32) + "\n")
