"""Operators: what a flow computes, as code over batches of records, without Kafka, hosts or clocks.

`batch` and `table` are what all of them work on, `operator` says what one is, each operator has its file with its
semantics in the docstring, `factory` makes it from its spec, `program` wires those of one segment together.
`decode`, `watermark` and `intake` stand before a program: bytes to values, event time, late records. `run` puts all
of it together for a flow file and a file of records.
"""
