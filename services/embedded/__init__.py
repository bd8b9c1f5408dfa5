"""The embedded stack: a real Kafka and a real Redis without Docker, started, watched and stopped by one supervisor.

`EmbeddedStack` (stack.py) is what others use: the CLI's `up` and the integration tests. Beneath it, jars.py fetches
Kafka, kafka.py and redis_server.py describe processes as plain data (process.py), and supervisor.py runs them by the
rules of lifecycle.py, on a leash (leash.py), in a locked folder (home.py) that records what runs (record.py) and what
stays the same (cluster.py).
"""

from services.embedded.errors import AlreadyRunningError, NotRunningError, StackError, StartError
from services.embedded.process import Process
from services.embedded.stack import EmbeddedStack, StackParams

__all__ = [
    "AlreadyRunningError",
    "EmbeddedStack",
    "NotRunningError",
    "Process",
    "StackError",
    "StackParams",
    "StartError",
]
