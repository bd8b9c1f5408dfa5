"""Operators: what a flow computes, as code over batches of records, without Kafka, hosts or clocks.

`batch` and `table` are what all of them work on, `operator` says what one is, each operator has its file with its
semantics in the docstring, `factory` makes it from its spec, `program` and `wiring` put those of a flow or a segment
together. Before a program stand `intake` (`decode`, `event_time`: bytes to values, late records) and `watermark`;
behind it `encode`. `nesting` bounds how deep values go, `pruning` finds work that nobody needs, `run` does it all for a
flow file and a file of records.
"""
