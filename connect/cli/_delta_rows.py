"""The rows of a Delta table that is only appended to, without Spark: for the demo.

The log of such a table names its files, and how many rows each has; what is not named there is no part of it.
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote


def rows_of(table: Path) -> tuple[list[dict[str, Any]], int]:
    """All rows, and how many commits there are; no rows for a table that is not there yet."""
    import pyarrow.parquet as pq

    rows = [row for file in _files(table) for row in pq.read_table(table / unquote(file["path"])).to_pylist()]
    return rows, len(_commits(table))


def row_count(table: Path) -> int:
    """How many rows there are, without reading them."""
    return sum(json.loads(file["stats"])["numRecords"] for file in _files(table))


def _files(table: Path) -> list[dict[str, Any]]:
    lines = [line for commit in _commits(table) for line in commit.read_text(encoding="utf-8").splitlines()]
    return [action["add"] for action in map(json.loads, lines) if "add" in action]


def _commits(table: Path) -> list[Path]:
    return sorted((table / "_delta_log").glob("*.json"))
