"""Ants: the messages that walk from cell to cell, and what happens to a cell and an ant when they meet."""
