"""A task's streaming queries: where they begin, how far they are, when they restart."""
