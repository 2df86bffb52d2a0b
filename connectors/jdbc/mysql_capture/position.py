"""The position in a server's changes: Debezium's offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect import ConnectError
from connectors.jdbc.changes import incremental
from connectors.jdbc.changes.incremental import Progress


@dataclass(frozen=True, slots=True)
class Resume:
    """Where the stream continues.

    Attributes:
        file, position: where a transaction begins, or the next one will.
        events: so many of its events are done, the first one counted.
        rows: and so many rows of the next event.
        gtids: the transactions before it, as the server writes them; empty when they are not known.
        progress: of incremental snapshots, None when there is none.
    """

    file: str
    position: int
    events: int = 0
    rows: int = 0
    gtids: str = ""
    progress: Progress | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.position}"


def stored(offset: Mapping[str, Any] | None) -> tuple[str, Resume | None]:
    """The state of a stored offset: "nothing", "snapshot" (an unfinished one) or "stream", and where to continue.

    Raises:
        ConnectError: it has neither this connector's nor Debezium's form.
    """
    if offset is None:
        return "nothing", None
    if offset.get("snapshot") and not offset.get("snapshot_completed"):
        return "snapshot", None
    file, position = offset.get("file"), offset.get("pos")
    if not isinstance(file, str) or not isinstance(position, int):
        raise ConnectError(f"The stored offset {dict(offset)} has no file and pos. Reset the connector's offsets.")
    return "stream", Resume(
        file,
        position,
        int(offset.get("event") or 0),
        int(offset.get("row") or 0),
        str(offset.get("gtids") or ""),
        incremental.of_offset(offset),
    )


def streamed(resume: Resume, server_id: int, at: int) -> dict[str, Any]:
    """The offset behind a change, or between two transactions.

    Args:
        server_id: of the server where the change began.
        at: when it was written, in seconds since 1970.
    """
    offset: dict[str, Any] = {"ts_sec": at, "file": resume.file, "pos": resume.position}
    if resume.gtids:
        offset["gtids"] = resume.gtids
    if resume.rows:
        offset["row"] = resume.rows
    offset["server_id"] = server_id
    if resume.events:
        offset["event"] = resume.events
    return offset if resume.progress is None else offset | resume.progress.stored()


def snapshotting(resume: Resume, at: int, mode: str, last: bool) -> dict[str, Any]:
    """The offset after a row of a snapshot; the snapshot is done only with its last one."""
    offset: dict[str, Any] = {"ts_sec": at, "file": resume.file, "pos": resume.position}
    if resume.gtids:
        offset["gtids"] = resume.gtids
    return offset | {"snapshot": mode.upper(), "snapshot_completed": last}


class MariaGtids:
    """The last transaction of each domain of a MariaDB server.

    https://mariadb.com/docs/server/ha-and-performance/standard-replication/gtid
    """

    def __init__(self, written: str) -> None:
        self._last: dict[str, str] = {}
        for each in filter(None, written.replace("\n", "").split(",")):
            self.add(each.strip())

    def add(self, gtid: str) -> None:
        """One more transaction, `domain-server-number`."""
        self._last[gtid.partition("-")[0]] = gtid

    def __str__(self) -> str:
        return ",".join(self._last[domain] for domain in sorted(self._last, key=int))


class MySqlGtids:
    """Transactions of MySQL servers: numbers, from and to, of each server.

    https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html
    """

    def __init__(self, written: str) -> None:
        self._known: dict[str, list[tuple[int, int]]] = {}
        for each in filter(None, written.replace("\n", "").split(",")):
            uuid, *parts = each.strip().split(":")
            server = uuid
            for part in parts:
                first, _, last = part.partition("-")
                if first.isdigit():
                    self._insert(server, int(first), int(last or first))
                else:  # a tag, of the numbers that follow
                    server = f"{uuid}:{part}"

    def add(self, gtid: str) -> None:
        """One more transaction, `server:number`."""
        server, _, number = gtid.partition(":")
        known = self._known.get(server)
        if known and known[-1][1] + 1 == int(number):  # as a rule
            known[-1] = (known[-1][0], int(number))
        else:
            self._insert(server, int(number), int(number))

    def _insert(self, server: str, first: int, last: int) -> None:
        merged: list[tuple[int, int]] = []
        for begin, end in sorted([*self._known.get(server, ()), (first, last)]):
            if merged and begin <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((begin, end))
        self._known[server] = merged

    def __str__(self) -> str:
        return ",".join(
            ":".join([server, *(f"{first}-{last}" if first != last else str(first) for first, last in parts)])
            for server, parts in sorted(self._known.items())
        )
