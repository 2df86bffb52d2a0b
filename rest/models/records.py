"""What it says of records: those on their way, trials, dead letters and their replay."""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, Final, Literal

import msgspec

from connect.herder.dead_letter_view import DeadLetterView
from connect.herder.dead_letters import LetterGroups, LetterPage
from connect.herder.replay import MOST_REPLAYED, Replayed
from connect.pipeline.outcome import SeenOutcome
from rest.models.connectors import Written

#: The most records of one trial.
MOST_TRIED: Final = 20


class TappedRecordInfo(msgspec.Struct):
    """A record on its way through a task. `at` in ms since the epoch, when it had passed the chain."""

    task: int
    worker_id: str
    at: int
    record: SeenOutcome


class Untapped(msgspec.Struct):
    """A worker, or a task of it, that shows no records, and why."""

    worker_id: str
    reason: str
    task: int | None = None


class TapAnswer(msgspec.Struct):
    """GET /connectors/{connector}/tap: the records, oldest first, and whoever shows none."""

    records: list[TappedRecordInfo]
    untapped: list[Untapped]


class DeadLetterPage(LetterPage):
    """GET /connectors/{connector}/dlq."""


class DeadLetterGroups(LetterGroups):
    """GET /connectors/{connector}/dlq/groups."""


class DeadLetter(DeadLetterView):
    """GET /connectors/{connector}/dlq/{partition}/{offset}."""


class ReplayOutcome(Replayed):
    """What became of a replay."""


#: An offset, a partition, a moment.
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Place(msgspec.Struct, forbid_unknown_fields=True):
    """Where a dead letter lies."""

    partition: Whole
    offset: Whole


class NewValue(msgspec.Struct, forbid_unknown_fields=True):
    """The value that takes the place of a dead letter's: as text or in base64; with neither null."""

    partition: Whole
    offset: Whole
    text: str | None = None
    base64: str | None = None

    def data(self) -> bytes | None:
        """The bytes. Raises ValueError."""
        if self.text is not None:
            return self.text.encode()
        return None if self.base64 is None else b64decode(self.base64, validate=True)


class Replay(msgspec.Struct, forbid_unknown_fields=True):
    """POST /connectors/{connector}/dlq/replay: which dead letters, and how. Without any, all.

    Which: `since`, `until` (ms), `stage`, `error` (a part of class or message), `fingerprint`, `key`, `places`; those
    that were replayed before only with `again`; the oldest first, at most `limit`.
    How: `to` the topic they came from or the connector, `into` another topic, with JSON fields `set` (by path) and
    `unset`, or with other `values`.
    """

    since: Whole | None = None
    until: Whole | None = None
    stage: str | None = None
    error: str | None = None
    fingerprint: str | None = None
    key: str | None = None
    places: list[Place] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_REPLAYED)] | None = None
    to: Literal["topic", "connector"] = "topic"
    into: str | None = None
    put: dict[str, Any] = msgspec.field(default_factory=dict, name="set")
    drop: list[str] = msgspec.field(default_factory=list, name="unset")
    values: list[NewValue] = []
    dry_run: bool = False
    again: bool = False


class Try(msgspec.Struct, forbid_unknown_fields=True):
    """PUT /connector-plugins/{plugin}/config/try: a configuration that is not created, and the records to try.

    They are of `topic`, by default the first of the configuration: `limit` of them, the first or with `from_end` the
    last; or they are `samples`, with `value`, `key`, `headers`, `timestamp`, `topic`, `partition`, all optional.
    """

    config: dict[str, Written | None]
    topic: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_TRIED)] = 5
    from_end: bool = False
    samples: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=MOST_TRIED)] = []
