"""How large an expression and its results may become. Every limit is generous for people and tight for attackers."""

MAX_LENGTH = 2_000
"""Characters of an expression's text."""

MAX_DEPTH = 64
"""Levels of nesting, of brackets as well as of the tree."""

MAX_SIZE = 1_000
"""Parts (literals, fields, operations) of the tree. A chained comparison counts its middle terms twice."""

MAX_PRODUCTS = 32
"""Multiplications in one expression: integers are exact, so each one may add a factor's length to the result."""

MAX_TEXT = 1_048_576
"""Characters that `concat` and `replace` may build; a longer result is null. The default limit of a Kafka record."""

MAX_PARTS = 1_000
"""Parts that `split` cuts; the last one keeps the rest."""

INT_MAX = 2**63 - 1
"""The largest integer that leaves an expression as an integer, and the largest literal (its negative is the
smallest).
"""
