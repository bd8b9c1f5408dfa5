"""What every process of Stigmergy needs, whatever it is for.

`broker` asks the cluster beside the event loop, `outage` tells a broker that is away from a fault of ours, `clock`
knows the broker's time. `health` serves pages on loopback, `exposition` writes them for Prometheus, `ending` ends
tasks.
"""
