"""What all keys that list columns have in common."""

from __future__ import annotations


def distinct(name: str, value: list[str]) -> None:
    """A validator: names of columns, each once. They never differ in case alone."""
    if "" in value:
        raise ValueError("has an empty name between its commas.")
    if len({column.lower() for column in value}) < len(value):
        raise ValueError("names a column twice.")
