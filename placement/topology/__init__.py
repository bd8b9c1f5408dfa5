"""Networks to try the brain on: generated like the Internet's, or built from measured round trips."""
