"""The errors that more than one module of the language raises. Each says what is wrong, where, and what to do next."""


class MessageError(Exception):
    """Bytes that are not the message their topic promises, or a message that must not be written to its topic.

    One type for every cause (truncated, wrong type, unknown version, too large): a reader has one thing to catch. Where
    a reader would set aside what others made of its topic, it leaves OtherVersionError out.
    `partition` and `offset` are None when the message was about to be written.
    """

    def __init__(self, *, topic: str, partition: int | None, offset: int | None, expected: str, problem: str) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.expected = expected
        self.problem = problem
        where = f"{topic}, to be written" if offset is None else f"{topic}[{partition}] at offset {offset}"
        super().__init__(f"{where}: expected {expected}; {problem}")


class OtherVersionError(MessageError):
    """A message of ours that another version of this software wrote: nothing is wrong with it, but with its reader."""


class TopicNameError(ValueError):
    """A name that cannot be part of a topic's name."""
