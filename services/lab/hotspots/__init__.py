"""Live bench of hot spots: flows of a real stack fed with replayed bursts, until hosts can't keep up.

`bursts` draws rates and arrivals, `flows` are what is loaded, `records` sends and reads them, `news` hears the models
and tells of broken bounds, `life` is one run of a stack, `judged` makes samples of two of them.
"""
