"""Seeded faults on real hosts and a real broker, judged by what the operators would have given without any fault.

A seed makes a scenario (scenario.py): a flow out of the set that has every operator (flows.py), its records (feed.py),
hosts, and faults at their instants. A run (run.py) plays it on the ground (ground.py: broker, Redis, host processes;
faults.py: what hurts them), heals all, waits until everything is at rest (rest.py) and has the outcome judged
(verdict.py) against the oracle (oracle.py). `python -m tests.chaos` runs many seeds and sums them up; `test_planted.py`
shows that bugs planted into the hosts (planted.py) do not get past the verdict.
"""
