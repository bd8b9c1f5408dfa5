"""Stigmergy in containers, driven from outside only: as a user's producer, consumer and command line do.

The stack is that of `services.testing`, which users have for their own tests. A drive (drive.py) submits flows
(flows.py), sends them records while something happens to a container, and has the outcome judged by the oracle of the
fault test (`tests/chaos`). `make test-e2e` does all of the set-up; tests/e2e/run is what it calls.
"""
