"""What only a stack of containers needs: the compose files under `compose/` start it."""
