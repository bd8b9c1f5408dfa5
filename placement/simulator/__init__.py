"""The simulator: a body for the brain on a virtual clock. Same seed, same run, bit for bit, in any process."""
