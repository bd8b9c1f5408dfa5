"""The functions that an expression may call, by name. What is not in this table does not exist for a flow."""

from topics.expressions.functions.convert import CONVERSIONS
from topics.expressions.functions.number import NUMBER_FUNCTIONS
from topics.expressions.functions.signature import FAULTS, Function
from topics.expressions.functions.text import TEXT_FUNCTIONS
from topics.expressions.functions.time import TIME_FUNCTIONS

FUNCTIONS: dict[str, Function] = {
    function.name: function for function in (*TEXT_FUNCTIONS, *NUMBER_FUNCTIONS, *TIME_FUNCTIONS, *CONVERSIONS)
}

__all__ = ["FAULTS", "FUNCTIONS", "Function"]
