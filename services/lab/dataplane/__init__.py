"""Bench of the data plane: hosts as they are shipped against other ways to do the same, all on one broker, in turn.

`measures` lists what can be measured, and each measure is a file of its own. They share the `workloads`,
the broker with its backlog (`ground`), the contestants (`contestants`, each a program in `sides/` as a user of it
would write it) and the trial: run one in a process of its own, and watch from outside how fast results appear and what
processor time they cost (`trial`).
"""
