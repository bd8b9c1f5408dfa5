"""Programs that the bench runs as processes of their own."""
