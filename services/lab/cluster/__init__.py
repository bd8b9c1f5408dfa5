"""`stigmergy bench cluster`: what a cluster does as a whole: take flows in, lose hosts, and spend little on it.

`site` is a cluster with real hosts and placement instances, `watch` the registry as it comes in, with times. The parts
are `submit`, `death`, `herd` and `traffic`; each does one thing, again and again, and makes rows of what was seen.
"""
