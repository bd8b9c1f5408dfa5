"""What the embedded stack says when it cannot do what was asked: what happened, and what to do next."""


class StackError(Exception):
    """The stack cannot do this. `remedy` is the next thing a person should try."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}\n{remedy}")
        self.what = what
        self.remedy = remedy


class AlreadyRunningError(StackError):
    """Another supervisor holds the lock of this home."""


class NotRunningError(StackError):
    """There is no supervisor to talk to."""


class StartError(StackError):
    """A process did not become ready; everything that had been started is stopped again."""
