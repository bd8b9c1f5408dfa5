"""Slots: records whose fields are attributes. They take half the time to decode that objects take.

A field that is missing is null there. So the fast form finds null where it would miss a field of an object, and both
mean the same. Only plain names become attributes: none of them leads to anything but a field.
"""

from keyword import iskeyword


def is_slot(name: str) -> bool:
    """Whether a field of this name can be one."""
    return name.isascii() and name.isidentifier() and not iskeyword(name) and not name.startswith("_")
