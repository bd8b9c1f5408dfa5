"""The demo of `stigmergy up`: made-up packets, a flow that finds the top talkers, and two hosts that run it."""
