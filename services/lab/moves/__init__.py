"""`stigmergy bench moves`: how long a partition pauses when it goes from one process to another, ours and others'.

All sides do the same on one broker: count and sum by key, two partitions, so many keys of state in each, an even load.
`stream` is that load and the watch over the results, `sides` are who takes part, `measures` turns pauses into rows.
"""
