"""Java plug-ins: connectors of Kafka Connect unchanged, each in a JVM within the process that runs it.

A stand-in (`plugins`) makes a Java connector look like a Python one to a connector host: validation, task
configurations, offsets. Its tasks run on an engine (`engine`): Kafka Connect's own worker, in the task's process, moves
the records with its own converters, transformations, clients and offsets, so that bytes and guarantees are Java's.
"""
