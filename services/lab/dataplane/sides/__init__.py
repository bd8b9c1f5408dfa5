"""Programs that do the bench's jobs, each as a user of its library would write it, each run in a process of its own.

All take the same arguments: broker, job, source topic, sink topic, consumer group, a folder for state.
"""
