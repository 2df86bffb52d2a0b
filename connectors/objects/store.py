"""What the sink needs of a store, and what a store says about its errors."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar, Final, NamedTuple

from connect import ConnectError, RetriableError

CREDENTIALS: Final = "credentials"
MISSING: Final = "missing"
UNREACHABLE: Final = "unreachable"
THROTTLED: Final = "throttled"
TIMEOUT: Final = "timeout"
CONFLICT: Final = "conflict"
MALFORMED: Final = "malformed"
REFUSED: Final = "refused"
OTHER: Final = "other"

#: What an object says in its metadata about the records that it holds, so that a task that finds it knows where to
#: continue. An object of several parts may get its metadata before its end is known; it names the rules that chose its
#: records, and the same rules choose the same records.
FIRST_OFFSET: Final = "connect-first-offset"
LAST_OFFSET: Final = "connect-last-offset"
RECORDS: Final = "connect-records"
RULES: Final = "connect-rules"
#: The topic that they were consumed from: transformations may give several topics one name.
TOPIC: Final = "connect-topic"


class Failure(NamedTuple):
    """What an error of a store means.

    Attributes:
        kind: its class, for the metric: one of the constants above.
        passing: whether the same request may succeed later.
        sentence: what happened, where, and what to do; without secrets.
    """

    kind: str
    passing: bool
    sentence: str


def raised(found: Failure) -> ConnectError:
    """The error to raise for it: `RetriableError` if it passes."""
    return RetriableError(found.sentence) if found.passing else ConnectError(found.sentence)


class RequestTimes:
    """How long requests took. For any thread."""

    def __init__(self) -> None:
        self._measured: deque[tuple[str, float]] = deque(maxlen=100_000)

    @contextmanager
    def measure(self, operation: str) -> Iterator[None]:
        """Measure the time of a request, whether it succeeds or not."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._measured.append((operation, time.monotonic() - began))

    def measured(self) -> list[tuple[str, float]]:
        """The requests since the last call: operation and seconds. The task's thread turns them into metrics."""
        return [self._measured.popleft() for _ in range(len(self._measured))]


class Conflict(Exception):
    """Another object with this name exists.

    Attributes:
        last: the offset of its last record.
    """

    def __init__(self, last: int) -> None:
        super().__init__(f"an object exists up to offset {last}")
        self.last = last


class Lost(Exception):
    """The store no longer has the parts of an upload, and no object of them: their records are needed again.

    Attributes:
        error: what the store said.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"an upload is gone: {error}")
        self.error = error


class Upload(ABC):
    """The upload of one object: in one request, or in parts that nobody sees before the last one is complete.

    The sink's upload threads call the methods, one after another for one object. A method that raised may be called
    again with the same arguments. `Store.failure` says what an error means, except for `Conflict`, `Lost` and
    `ConnectError`, which are raised as such.
    """

    key: str

    @abstractmethod
    def put(self, body: bytes, last: int, records: int) -> None:
        """Upload the whole object, whose last record has this offset.

        Raises:
            Conflict: another one exists, with other records.
            ConnectError: another one exists, and does not say which records it holds.
        """

    @abstractmethod
    def part(self, body: bytes) -> None:
        """Upload the next part; at least `Store.smallest_part` bytes unless it is the last.

        Raises:
            Lost: earlier ones are gone.
        """

    @abstractmethod
    def complete(self, last: int, records: int) -> None:
        """Make the object from its parts. Raises as `put` and `part`."""

    @abstractmethod
    def abort(self) -> None:
        """Discard the uploaded parts."""

    def tag(self, tags: Mapping[str, str]) -> None:
        """Replace the object's tags. Only where the connector has keys for tags."""
        raise NotImplementedError


class Store(ABC):
    """A bucket, or what its store calls so, and the client that reaches it. All methods are for any thread.

    Attributes:
        name: of the bucket.
        where: the bucket and its address, for messages, without secrets.
    """

    #: No part of an object may have fewer bytes, except the last one.
    smallest_part: ClassVar[int] = 5 << 20

    name: str
    where: str

    @abstractmethod
    def upload(self, key: str, content_type: str, first: int, rules: str, *, topic: str, conditional: bool) -> Upload:
        """The upload of one object.

        Args:
            key: of the object.
            content_type: its MIME type.
            first: the offset of its first record.
            rules: what decided where it ends, see `SinkPlan.fingerprint`; "" if the clock did.
            topic: that its records were consumed from.
            conditional: whether an existing object is left alone.
        """

    @abstractmethod
    def last_offset(self, key: str, topic: str) -> int | None:
        """The offset of the last record of an object with records of a topic; None if there is none that says so.

        Raises nothing: if it is more than a missing object, the write will report it.
        """

    def abort_left(  # noqa: B027 - not every store needs it
        self, folder: str, mine: Callable[[str], bool]
    ) -> None:
        """Abort unfinished uploads of an earlier task: nobody would ever complete them. Raises nothing.

        Args:
            folder: the beginning of their objects' keys.
            mine: whether an object of this key belongs to a partition of this task.
        """

    @abstractmethod
    def failure(self, error: BaseException, doing: str) -> Failure:
        """What an error means that was raised while `doing`, such as ``writing topics/t/a.json``."""

    def discard(self) -> bool:
        """Forget the client, after a refusal of its credentials; the next request makes another.

        True: there are other credentials by now, so the refused request is worth another try.
        """
        return False

    @abstractmethod
    def close(self) -> None:
        """Close connections."""

    @abstractmethod
    def measured(self) -> list[tuple[str, float]]:
        """The requests since the last call: see `RequestTimes`."""


def told(first: int, last: int | None, records: int | None, rules: str, topic: str) -> dict[str, str]:
    """The metadata of an object: what it says about its records, as far as that is known."""
    said = {FIRST_OFFSET: str(first), TOPIC: topic}
    if last is not None:
        said[LAST_OFFSET] = str(last)
    if records is not None:
        said[RECORDS] = str(records)
    if rules:
        said[RULES] = rules
    return said


def last_of(said: Mapping[str, str], topic: str) -> int | None:
    """The offset of the last record of an object, by its metadata: see `Store.last_offset`."""
    return int(said[LAST_OFFSET]) if LAST_OFFSET in said and said.get(TOPIC, topic) == topic else None


def check_existing(
    said: Mapping[str, str], last: int, rules: str, topic: str, *, key: str, where: str, identical: bool = False
) -> None:
    """Check the object that exists in place of the one that was to be written; return if it holds the same records.

    Args:
        said: its metadata.
        last: the offset of the last record that was to be written.
        rules: what decided that, or "".
        topic: that the records were consumed from.
        key: of the object.
        where: the store.
        identical: whether its bytes are known to be the same.

    Raises:
        Conflict: it holds other records.
        ConnectError: nobody knows, or they are another topic's.
    """
    if said.get(TOPIC, topic) != topic:
        raise ConnectError(
            f"The object {key} already exists in {where}, and holds records of the topic {said[TOPIC]}: "
            f"transformations give that topic and {topic} the same name, and so their objects. Give each a name of its "
            "own, or write them by two connectors with different topics.dir or file.name.prefix."
        )
    if LAST_OFFSET in said:
        if int(said[LAST_OFFSET]) != last:
            raise Conflict(int(said[LAST_OFFSET]))
        return
    if identical or (rules and said.get(RULES) == rules):
        return
    raise ConnectError(
        f"The object {key} already exists in {where}, and does not say which records it holds: another program wrote "
        "it, or this connector did before its configuration was changed. Move it away if its records may come again, "
        "or set enable.conditional.writes=false to replace it."
    )
