"""A program that ties itself to its parent and then becomes another program, so that no child outlives its parent.

    python leash.py PARENT_PID COMMAND [ARGUMENT ...]

The kernel sends SIGKILL to the child when the thread that started it ends (PR_SET_PDEATHSIG): also when the parent gets
kill -9 and can do nothing any more. The setting survives exec. It is made here, in a program of its own, and not
between fork and exec of the parent, because running Python there is unsafe in a process with several threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ties this process to its parent, then runs the command in its place."""
    parent_pid = int(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"leash: prctl failed: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent_pid:  # the parent died before prctl could see it
        sys.exit(f"leash: parent {parent_pid} is gone")
    command = sys.argv[2:]
    try:
        os.execvp(command[0], command)  # noqa: S606 - an argument list, and no shell is wanted
    except OSError as fault:
        sys.exit(f"leash: cannot run {command[0]}: {fault.strerror}")


if __name__ == "__main__":
    main()
