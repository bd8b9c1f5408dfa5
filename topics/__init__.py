"""The language of Stigmergy: what is said on which topic, and what a user may write in a flow file.

Read `messages` for what is said, `catalogue` for where, `codec` for the bytes, `admin` for topics on a live cluster;
`flow` and `expressions` are the flow file.
"""
