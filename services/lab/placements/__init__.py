"""Bench of placements: flows in a world, placed by ants and by other strategies in turn, and how long results take.

`load` sends records where a flow's source stands and reads its results where its sink stands; `contest` lets each
strategy have its turn with the same flows on the same hosts; `measures` makes rows of what was seen.
"""
