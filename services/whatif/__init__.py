"""What if a host were lost, a rate doubled, a host added? Recorded measurements go to the brain's model, with a change.

`recorded` reads what hosts measured at some time; `world` makes a placement problem of it; `question` changes it and
lets a strategy that sees everything answer. Nothing is written.
"""
