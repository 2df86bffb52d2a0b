"""Signals to a connector that captures a database, and what is read by them."""

from __future__ import annotations

import json
import uuid
from typing import Any

from connect.testing import SourceRun

from .captured import Captured, ids

ROWS = 500
#: Rows are read so many at a time.
SIZE = 40


def start(captured: Captured, **changes: str) -> SourceRun:
    """A run whose stream has begun, without what is there already. Signals are not captured themselves."""
    tables = {} if "table.include.list" in changes else {"table.exclude.list": captured.table("signals")}
    given = {
        "snapshot.mode": "no_data",
        "signal.data.collection": captured.table("signals"),
        "incremental.snapshot.chunk.size": str(SIZE),
        **tables,
        **changes,
    }
    run = captured.run(**given).start()
    run.poll()  # from here on the log is read
    captured.execute("INSERT INTO line VALUES (0, 'begun')")
    captured.until(run, lambda: 0 in ids(run.records))
    return run


def signal(captured: Captured, kind: str, data: str | None) -> None:
    captured.database.execute("INSERT INTO signals VALUES (%s, %s, %s)", (str(uuid.uuid4()), kind, data))


def tell(captured: Captured, kind: str, **data: Any) -> None:
    signal(captured, kind, json.dumps(data) if data else None)


def ask(captured: Captured, *tables: str, **data: Any) -> None:
    """Ask for a snapshot of tables, which stand here without what their full names begin with."""
    names = [captured.table(table) for table in tables]
    tell(captured, "execute-snapshot", **{"type": "incremental", "data-collections": names, **data})


def read(run: SourceRun, table: str = "line") -> list[int]:
    """The rows of snapshots."""
    return ids([each for each in run.records if each.value and each.value["op"] == "r"], table)


def under_way(run: SourceRun) -> Any:
    """The task's own snapshot."""
    task: Any = run.task
    return task._incremental


def left(run: SourceRun) -> Any:
    """What the stored offset has of a snapshot."""
    return run.offsets[0][1].get("incremental_snapshot") if run.offsets else None
