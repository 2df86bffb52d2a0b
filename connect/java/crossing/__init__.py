"""Batches between Python and the JVM of this process: a block of bytes each way, in Arrow's layout where it has one.

`plugins` are Java's transformations, predicates and converters in a chain of Python; `tasks` are Java's tasks in a loop
of Python; `batches` makes and reads their blocks, `block` a block's columns, `schemas` the texts of schemas. The other
end is `Crossing.java`, which `classes` compiles.
"""
