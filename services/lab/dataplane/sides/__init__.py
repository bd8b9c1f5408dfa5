"""Programs that run the bench's workloads, each as a user of its library would write it, each in a process of its own.

All take the same arguments: broker, workload, source topic, sink topic, consumer group, a folder for state.
"""
