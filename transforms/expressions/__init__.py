"""The language of `Expression`: SQL expressions over one record at a time.

`parse` turns text into a tree, `functions` defines each operator and function, `compile` turns a tree into a Python
function and the type of its results.
"""
