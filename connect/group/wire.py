"""The messages of members of a Connect group when they join, and the leader's answer, as bytes.

Three versions: 0 for the protocol "default" (eager), 1 for "compatible", 2 for "sessioned"; the last two differ only in
the number. Big endian; a string is its length in 16 bits and UTF-8; a task -1 stands for the connector.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-415%3A+Incremental+Cooperative+Rebalancing+in+Kafka+Connect
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.errors import ConnectError
from connect.group.work import NOTHING, TaskId, Work

#: The version that each protocol of the group writes, by the names the broker knows.
VERSIONS: Final[Mapping[str, int]] = {"default": 0, "compatible": 1, "sessioned": 2}
#: What a worker offers for each `connect.protocol`; the first that all members offer is used.
PROTOCOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "eager": ("default",),
    "compatible": ("compatible", "default"),
    "sessioned": ("sessioned", "compatible", "default"),
}
EAGER: Final = "default"

NO_ERROR: Final = 0
#: The leader has not read the configurations as far as another member: nothing is given out, all read on and rejoin.
CONFIG_MISMATCH: Final = 1

#: The longest name of a connector that members can be told, in UTF-8: lengths have 16 bits and a sign.
LONGEST_NAME: Final = 2**15 - 1

_CONNECTOR = -1  # in the place of a task's number
_LOADS = b"pyLOAD\0\1"  # what follows is ours: arrays of connector, arrays of task (i32) and load (f32)


class WireError(ConnectError):
    """Bytes of another member do not follow the protocol."""


def can_be_told(connector: str) -> bool:
    """Whether the name of a connector fits into an assignment.

    Java's leader does not check, and dies: so does the next one, until the name is out of the config topic.
    """
    return len(connector) <= LONGEST_NAME and len(connector.encode(errors="replace")) <= LONGEST_NAME


@dataclass(frozen=True)
class Assignment:
    """One member's assignment.

    In protocol "default" `new` is all the member has from now on; in the others it comes on top of what it has, after
    `revoked` is stopped.

    Attributes:
        error: NO_ERROR or CONFIG_MISMATCH.
        leader, leader_url: the leader's member id, and the URL of its REST interface, ending in "/".
        offset: the position in the config topic that this is based on: the offset after the last record.
        new, revoked: what to start and what to stop.
        delay: milliseconds after which the member should join again, for work that is held back; 0 for never.
    """

    error: int
    leader: str
    leader_url: str
    offset: int
    new: Work = NOTHING
    revoked: Work = NOTHING
    delay: int = 0


@dataclass(frozen=True)
class Metadata:
    """A member's metadata when it joins.

    Attributes:
        url: of its REST interface, ending in "/".
        offset: how far it has read the configurations: the offset after the last record.
        current: all that it owns, in `new`; None if it owns nothing. Protocol "default" does not send it.
        loads: of its tasks, in cores of CPU, as far as measured. Not in Kafka: it follows all that Java reads. Protocol
            "default" does not send it.
    """

    url: str
    offset: int
    current: Assignment | None = None
    loads: Mapping[TaskId, float] = field(default_factory=dict)

    @property
    def owned(self) -> Work:
        """What the member owns."""
        return self.current.new if self.current else NOTHING


def encode_metadata(metadata: Metadata, protocol: str) -> bytes:
    """The bytes with which a member joins under this protocol ("default", "compatible" or "sessioned")."""
    version = VERSIONS[protocol]
    head = struct.pack(">h", version) + _string(metadata.url) + struct.pack(">q", metadata.offset)
    if version == 0:
        return head
    if metadata.current is None:
        return head + struct.pack(">i", -1) + _loads(metadata.loads)
    current = encode_assignment(metadata.current, protocol)
    return head + struct.pack(">i", len(current)) + current + _loads(metadata.loads)


def decode_metadata(data: bytes) -> Metadata:
    """Decode a member's metadata.

    Raises:
        WireError: the bytes are not a member's metadata.
    """
    reader = _Reader(data, "metadata of a member")
    version = reader.version()
    url, offset = reader.string(), reader.int64()
    if version == 0:
        return Metadata(url, offset)
    current = reader.data()
    return Metadata(url, offset, decode_assignment(current) if current else None, reader.loads())


def encode_assignment(assignment: Assignment, protocol: str) -> bytes:
    """The bytes of a member's assignment under this protocol."""
    version = VERSIONS[protocol]
    data = struct.pack(">hh", version, assignment.error) + _string(assignment.leader) + _string(assignment.leader_url)
    data += struct.pack(">q", assignment.offset) + _work(assignment.new)
    if version == 0:
        return data
    return data + _work(assignment.revoked) + struct.pack(">i", assignment.delay)


def decode_assignment(data: bytes) -> Assignment:
    """Decode an assignment. A null list of work reads as an empty one.

    Raises:
        WireError: the bytes are not an assignment.
    """
    reader = _Reader(data, "assignment")
    version = reader.version()
    error, leader, leader_url, offset = reader.int16(), reader.string(), reader.string(), reader.int64()
    new = reader.work()
    if version == 0:
        return Assignment(error, leader, leader_url, offset, new)
    return Assignment(error, leader, leader_url, offset, new, reader.work(), reader.int32())


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _loads(loads: Mapping[TaskId, float]) -> bytes:
    if not loads:
        return b""
    of: dict[str, list[tuple[int, float]]] = {}
    for (connector, task), load in sorted(loads.items()):
        of.setdefault(connector, []).append((task, load))
    lists = (
        _string(connector) + struct.pack(">i", len(tasks)) + b"".join(struct.pack(">if", *each) for each in tasks)
        for connector, tasks in of.items()
    )
    return _LOADS + struct.pack(">i", len(of)) + b"".join(lists)


def _work(work: Work) -> bytes:
    numbers: dict[str, list[int]] = {connector: [_CONNECTOR] for connector in sorted(work.connectors)}
    for connector, task in sorted(work.tasks):
        numbers.setdefault(connector, []).append(task)
    lists = (
        _string(connector) + struct.pack(f">i{len(tasks)}i", len(tasks), *tasks) for connector, tasks in numbers.items()
    )
    return struct.pack(">i", len(numbers)) + b"".join(lists)


class _Reader:
    """Reads one value after the other. Bytes that are left at the end belong to a later version, and are ignored."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._at = 0
        self._what = what

    def version(self) -> int:
        version = self.int16()
        if version not in VERSIONS.values():
            raise WireError(f"The {self._what} has version {version}; versions 0 to 2 are known here")
        return version

    def int16(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def int64(self) -> int:
        return int.from_bytes(self._take(8), "big", signed=True)

    def string(self) -> str:
        try:
            return self._take(self.int16()).decode()
        except UnicodeDecodeError as error:
            raise WireError(f"The {self._what} has text that is not UTF-8") from error

    def data(self) -> bytes:
        """Bytes; none for null."""
        return self._take(max(self.int32(), 0))

    def loads(self) -> dict[TaskId, float]:
        """The loads at the end, if they are complete: Java's members have none."""
        if not self._data.startswith(_LOADS, self._at):
            return {}
        self._at += len(_LOADS)
        found = {}
        try:
            for _ in range(self.int32()):
                connector = self.string()
                for _ in range(self.int32()):
                    task, load = struct.unpack(">if", self._take(8))
                    if math.isfinite(load) and load >= 0:
                        found[TaskId(connector, task)] = load
        except WireError:
            return {}
        return found

    def work(self) -> Work:
        connectors = set()
        tasks = set()
        for _ in range(self.int32()):
            connector = self.string()
            for _ in range(self.int32()):
                number = self.int32()
                if number == _CONNECTOR:
                    connectors.add(connector)
                else:
                    tasks.add(TaskId(connector, number))
        return Work(frozenset(connectors), frozenset(tasks))

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise WireError(f"The {self._what} ends at byte {len(self._data)}, in the middle of a value")
        taken = self._data[self._at : end]
        self._at = end
        return taken
