"""Batches between Python and the JVM of this process: one block of bytes each way, in Arrow's layout where there is one.

`block` is how a block is written and read, `Crossing.java` the other end, `classes` compiles it, `plugins` are Java's
transformations, predicates and converters in a chain of Python.
"""
