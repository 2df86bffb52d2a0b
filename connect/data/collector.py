"""Keeps Python's garbage collector out of the hot loop.

Batches make and drop millions of objects without cycles; at Python's thresholds the collector would look at all of them
again and again. Measured: up to ten times the cost on big lists; in Spark's Python workers half of what a record takes.
"""

from __future__ import annotations

import gc


def tune_collector() -> None:
    """For a process that moves records: once, before it begins."""
    gc.set_threshold(100_000, 20, 100)


def freeze() -> None:
    """What lives now lives as long as the task: the collector need not look at it again."""
    gc.collect()
    gc.freeze()
