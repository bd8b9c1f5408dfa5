"""Flows: the file format, the Python builder, and the compiler to a typed graph.

`file` reads a file through `document` (YAML with places), `read` and `read_operators` (plain values to specs); then
`compile` checks the whole and makes the `graph`. `builder` makes the same plain values from Python calls. docs/flows.md
is the reference for users. Import from the modules themselves: `from topics.flow.file import load_graph`.
"""
