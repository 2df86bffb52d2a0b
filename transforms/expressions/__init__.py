"""The language of `Expression`: SQL's expressions over one record at a time.

`parse` makes a tree of a text, `functions` says what each operator and function does, `compile` makes a Python function
of a tree and says of which type its results are.
"""
