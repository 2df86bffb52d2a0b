"""What records that have some of a row's columns leave of it."""

from collections.abc import Mapping, Sequence
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


class VersionsModel:
    """What a table with a row for each version of a key holds, of records that come in the order of their times.

    Args:
        columns: those that records may lack.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._rows: list[dict[str, Any]] = []
        self._current: dict[int, dict[str, Any]] = {}

    def change(self, key: int, value: Mapping[str, Any] | None, at: Any) -> None:
        """Add a record; none deletes at the moment when a version began."""
        before = self._current.pop(key, None)
        if before is not None:
            before["valid_to"], before["is_current"] = at, False
        if value is None:
            return
        if before is not None and before["valid_from"] == at:
            self._rows.remove(before)
        row = {**dict.fromkeys(self._columns), **(before or {}), **value}
        self._current[key] = {**row, "valid_from": at, "valid_to": None, "is_current": True}
        self._rows.append(self._current[key])

    def rows(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """The rows by key and time, with these columns."""
        ordered = sorted(self._rows, key=lambda row: (row["id"], row["valid_from"]))
        return [{name: row[name] for name in names} for row in ordered]
