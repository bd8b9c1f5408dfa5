"""Live bench of hot spots: flows of a real stack fed with replayed bursts, until hosts can't keep up.

`bursts` draws rates and arrivals, `flows` are what is loaded, `programs` the hosts that run them on a `processor` which
is played, `records` sends and reads, `news` hears the models, `crier` tells of broken bounds, `life` is one run of a
stack, `judged` makes samples of two of them.
"""
