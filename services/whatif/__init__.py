"""What if a host were lost, a rate doubled, a host added? Recorded measurements go to the brain's model, with a change.

`recorded` reads what hosts measured at some time; `past` says where everything ran then; `world` makes a placement
problem of it; `question` lets `ants` answer, in the simulator, beside a strategy that sees everything. Nothing is
written.
"""
