"""The progress bar of downloads. It appears with the first jar, so that a warm cache shows none.

Without a terminal there is a line in the log instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from services.cli.screen import errors
from services.embedded.jars import OnProgress


@contextmanager
def download_bar() -> Iterator[OnProgress]:
    """Gives the function that moves the bar."""
    columns = (TextColumn("fetching Kafka"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)
    task = progress.add_task("fetch", total=None)

    def move(done_bytes: int, total_bytes: int) -> None:
        if progress.disable and progress.tasks[0].total is None:
            structlog.get_logger().info("fetching Kafka", bytes=total_bytes)
        progress.start()
        progress.update(task, completed=done_bytes, total=total_bytes)
        if done_bytes >= total_bytes:
            progress.stop()

    try:
        yield move
    finally:
        progress.stop()
