"""Dead letters seen by people: `letters` reads them, `replay` sends their records again, each once."""
