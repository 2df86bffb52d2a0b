"""What records that have some of a row's columns leave of it."""

from collections.abc import Sequence
from typing import Any


def change(
    model: dict[int, dict[str, Any]], key: int, value: Any, columns: Sequence[str], *, soft: bool, ordered: bool
) -> None:
    """Change a model of a table, with the columns id, n, gone and some more.

    Args:
        model: the rows by their keys.
        key: of the record.
        value: of the record, with id, n and some of the columns; None to delete.
        columns: the further ones.
        soft: whether a deleted row stays.
        ordered: whether a record of a smaller n changes nothing.
    """
    row = model.get(key)
    if value is not None:
        if row is None or not ordered or value["n"] >= row["n"]:
            model[key] = {"id": key, "n": None, **dict.fromkeys(columns), **(row or {}), **value, "gone": False}
    elif soft and row is not None:
        row["gone"] = True
    else:
        model.pop(key, None)
