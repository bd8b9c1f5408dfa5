"""Isolated: a user's function in a process of its own, which may hang, crash or swallow memory without harm to others.

`caller` is the side of the host, `child` that of the function; `wire` is how they talk.
"""
