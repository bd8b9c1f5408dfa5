"""`python -m tests.integration.host_process.faust_losses.crashing_host FOLDER HOST-ARGUMENTS...`: apps of it crash.

The Faust app of a segment crashes once the folder has a file `crash-SEGMENT`; then `crashed` names all segments whose
apps have crashed. It does so in a future of the app, as what a user of Faust marks with `@app.task` does. Otherwise it
is the product's own `python -m services.host`.
"""

import asyncio
import json
import sys
from pathlib import Path
from unittest.mock import patch

from services.host import main as host
from services.host import segment


class CrashingApp(segment.SegmentApp):
    """Waits for its file."""

    folder: Path
    begun: list["CrashingApp"]

    async def begin(self) -> None:
        await super().begin()
        self.begun.append(self)
        self.add_future(self._crash_when_told())

    async def _crash_when_told(self) -> None:
        while not (self.folder / f"crash-{self.conf.id}").exists():
            await asyncio.sleep(0.05)
        raise RuntimeError("the database is away")

    async def crash(self, reason: BaseException) -> None:
        await super().crash(reason)
        part = self.folder / "crashed.part"
        part.write_text(json.dumps(sorted(app.conf.id for app in self.begun if app.crashed)))
        part.rename(self.folder / "crashed")


def main() -> None:
    """Entry of the process."""
    CrashingApp.folder, CrashingApp.begun = Path(sys.argv.pop(1)), []
    with patch.object(segment, "SegmentApp", CrashingApp):
        host.main()


if __name__ == "__main__":
    main()
