"""The registry: flows, hosts, placements and statuses, as the compacted topics tell them.

`view` is what all messages so far amount to; `follow` keeps a view up to date inside an event loop (hosts), `snapshot`
reads one once (commands). `write` adds to the topics, `spread` decides by a simple rule where a flow goes.
`fenced` writes as the one instance that may, `lease` and `lease_keeper` say who that is; `asking` brings people's
wishes to it, and `decisions` is how all who decide write that down. `sharing_counts`, `sharing_revisions` and
`sharing_words` say who reads whose segments, what may change meanwhile, and that to people.
"""
