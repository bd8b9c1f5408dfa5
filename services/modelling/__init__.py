"""Models: Spark reads what hosts measure, numpy fits, and the outcome goes to a topic and to Redis.

Only `spark_*` files import Spark; hosts and tools that read models need none of it.
"""
