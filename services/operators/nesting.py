"""How deeply values may be nested: so that one record cannot exhaust the stack of an operator.

Comparing, copying and encoding a value take a level of Python's stack for each of its own, and an operator may stand
deeper in the stack than the decoder before it. A record that just fits into the decoder would end the operator, and
with it the flow. So there is a limit well below what Python allows, the same on every host.
"""

from typing import Any

LEVELS_MAX = 200

TOO_DEEP = f"nested deeper than {LEVELS_MAX} levels"


def is_too_deep(value: Any) -> bool:
    """Whether objects and lists are nested in each other too deeply. Takes no stack of its own."""
    level = [value]
    for _ in range(LEVELS_MAX):
        level = [
            inner
            for each in level
            for inner in (each.values() if type(each) is dict else each)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return False
    return True
