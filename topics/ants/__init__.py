"""Ants on the wire: how the brain's messages become bytes, and how a host tells a real ant from any other bytes.

`kinds` is the table of everything that travels, `shapes` turns values into plain MessagePack and back, `envelope` puts
several of them under one seal, and `gate` lets an envelope in only once, only in time and only under the cluster's key.
"""
