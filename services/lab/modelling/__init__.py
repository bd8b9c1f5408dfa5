"""Measures of the modelling service on a real broker and a real Spark."""
