"""The lab: measurements and experiments. What they find, they print and write as results that others can read."""
