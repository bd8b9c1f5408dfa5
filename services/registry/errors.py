"""What goes wrong with the registry, told with what to do next."""


class RegistryError(Exception):
    """The registry could not be read or written, or does not hold what was asked for."""

    def __init__(self, what: str, remedy: str = "is Kafka up? Try stigmergy doctor") -> None:
        super().__init__(f"{what}\n{remedy}")
        self.what = what
        self.remedy = remedy
