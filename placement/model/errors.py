"""The one error of a malformed problem: it says what is wrong, how much, and what to do."""


class ModelError(ValueError):
    """A host, network, flow or placement that can't mean anything."""


def require(condition: bool, message: str) -> None:
    """Raise a ModelError with that message unless the condition holds."""
    if not condition:
        raise ModelError(message)
