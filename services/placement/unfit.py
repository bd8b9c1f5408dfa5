"""What stands in the way of a plan or a wish."""


class UnfitError(Exception):
    """Something can't be carried out as things are; `why` is told to people, `evidence` to programs."""

    def __init__(self, why: str, **evidence: str) -> None:
        super().__init__(why)
        self.why = why
        self.evidence = evidence
