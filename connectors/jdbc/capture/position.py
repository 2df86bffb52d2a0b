"""The position in a database's changes: Debezium's offsets, made exact within a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect import ConnectError
from connectors.jdbc.capture.pgoutput import Begin
from connectors.jdbc.changes import incremental
from connectors.jdbc.changes.incremental import Progress

_XIDS = 1 << 32


class Transaction:
    """One transaction while it is sent.

    Attributes:
        before: the position behind the commit of the one before it; None when none was seen.
        end: the position behind its own commit, None until that arrives.
        last_row: the number of the last row of a batch from it, see `Marks`.
    """

    __slots__ = ("at", "before", "end", "final", "last", "xid")

    def __init__(self, begin: Begin, before: int | None) -> None:
        self.xid = begin.xid
        self.at = begin.at
        self.final = begin.final
        self.before = before
        self.end: int | None = None
        self.last: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Resume:
    """Where the stream continues.

    Attributes:
        lsn: transactions whose commit ends behind this are sent again.
        committed: the same, None when no commit was seen.
        xid: of the unfinished transaction; its changes up to and including `change` are done.
        change: the position of a change in the log, and its number among the changes at that position, from 1 (a
            statement may change several rows in one entry); None for the number where Debezium stored the offset.
        visible: a snapshot that was not created with the slot, as long as transactions of it may arrive.
        progress: of incremental snapshots, None when there is none.
    """

    lsn: int
    committed: int | None = None
    xid: int | None = None
    change: tuple[int, int | None] = (0, 0)
    visible: Visible | None = None
    progress: Progress | None = None

    def done(self, xid: int, lsn: int, number: int) -> bool:
        """Whether this change was sent before."""
        if xid != self.xid:
            return False
        last, count = self.change
        return lsn < last or (lsn == last and (count is None or number <= count))


@dataclass(frozen=True, slots=True)
class Visible:
    """Which transactions a snapshot has seen: `xmin:xmax:running,ones`, as PostgreSQL writes it.

    `end` is a position in the log when it was taken: no snapshot has seen what commits behind it.
    """

    snapshot: str
    end: int

    def has(self, begin: Begin) -> bool:
        """Whether the snapshot has seen this transaction."""
        if begin.final >= self.end:
            return False
        _, xmax, under_way = self.snapshot.split(":")
        if begin.xid in {int(each) % _XIDS for each in under_way.split(",") if each}:
            return False
        # Transactions count around; the nearer way tells which one came first.
        return 0 < (int(xmax) - begin.xid) % _XIDS < _XIDS // 2


def stored(offset: Mapping[str, Any] | None) -> tuple[str, Resume | None]:
    """The state of a stored offset: "nothing", "snapshot" (an unfinished one) or "stream", and where to continue.

    Raises:
        ConnectError: it has neither this connector's nor Debezium's form.
    """
    if offset is None:
        return "nothing", None
    visible = None
    if isinstance(offset.get("snapshot_visible"), str):
        snapshot, _, end = offset["snapshot_visible"].partition("@")
        visible = Visible(snapshot, int(end))
    if offset.get("snapshot") and not offset.get("snapshot_completed"):
        return "snapshot", Resume(0, visible=visible) if visible else None
    lsn = offset.get("lsn_proc", offset.get("lsn"))
    if not isinstance(lsn, int):
        raise ConnectError(f"The stored offset {dict(offset)} has no lsn. Reset the connector's offsets.")
    progress = incremental.of_offset(offset)
    if offset.get("snapshot"):
        return "stream", Resume(lsn, visible=visible, progress=progress)
    committed = offset.get("lsn_commit")
    number = offset.get("lsn_change", None)
    return "stream", Resume(
        lsn if committed is None else int(committed),
        None if committed is None else int(committed),
        offset.get("txId"),
        (lsn, number),
        visible,
        progress,
    )


def streamed(
    transaction: Transaction, lsn: int, number: int, visible: Visible | None, progress: Progress | None
) -> dict[str, Any]:
    """The offset after a change: of the transaction, or of what is behind it when that was its last."""
    end = transaction.end if transaction.last == (lsn, number) else None
    offset: dict[str, Any] = {"lsn": lsn, "lsn_proc": lsn, "txId": transaction.xid, "ts_usec": transaction.at}
    committed = transaction.before if end is None else end
    if committed is not None:
        offset["lsn_commit"] = committed
    offset["lsn_change"] = number
    return offset | _seen(visible, committed or 0) | _left(progress)


def idle(lsn: int, at: int, visible: Visible | None, progress: Progress | None) -> dict[str, Any]:
    """The offset when everything before a position is done."""
    return {"lsn": lsn, "lsn_proc": lsn, "lsn_commit": lsn, "ts_usec": at} | _seen(visible, lsn) | _left(progress)


def snapshotting(lsn: int, at: int, mode: str, last: bool, visible: Visible | None) -> dict[str, Any]:
    """The offset after a row of a snapshot; the snapshot is done only with its last one."""
    offset: dict[str, Any] = {"lsn": lsn, "ts_usec": at, "snapshot": mode.upper()}
    return offset | {"last_snapshot_record": last, "snapshot_completed": last} | _seen(visible, 0)


def _seen(visible: Visible | None, lsn: int) -> dict[str, Any]:
    return {} if visible is None or lsn >= visible.end else {"snapshot_visible": f"{visible.snapshot}@{visible.end}"}


def _left(progress: Progress | None) -> dict[str, Any]:
    return {} if progress is None else progress.stored()
