"""The chaos matrix of moves: in each phase of a move, each party to it is killed, frozen or cut off from the network.

A cell of the matrix (matrix.py) is a phase, a victim and what is done to it; with a seed it is also a flow, its records
and how long the fault lasts. Its ground (ground.py) is the product as it is deployed: hosts whose leaders place the
flow by ants, two placement instances, a broker and Redis, each process behind a way of its own that can be cut
(ways.py). A move passes through some phases in a millisecond, so the processes hold still at the right point until the
fault has struck (holds.py). What comes of it (run.py) is judged like every other fault, by the oracle, and by who owned
what and when (owners.py).

`make chaos` plays the whole matrix, `test_moves.py` a sample of it.
"""
