"""The registry: flows, hosts, placements and statuses, as the compacted topics tell them.

`view` is what all messages so far amount to; `follow` keeps a view up to date inside an event loop (hosts), `snapshot`
reads one once (commands). `write` adds to the topics, `spread` decides by a simple rule where a flow goes.
"""
