"""The placement service: it takes plans, keeps the registry true to them, and carries partitions from host to host.

`instance` is the process: of several, the one with the lease is active. `conductor` decides, purely, what is to be
written at each look at the registry: `plans` carries out plans, `failover` places anew what a lost host ran, `wishes`
answers people, `carriage` drives moves. `watch` knows which hosts live.
"""
