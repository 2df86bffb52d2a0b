"""Records for merges by a key, in batches."""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

KEY = {"id": pa.int64()}
#: `a` and `b` are a sequence, `n` tells records apart.
VALUE = {"a": pa.int64(), "b": pa.int64(), "n": pa.int64()}
PLAIN = {"x": pa.string()}


def record(id_: int, value: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A record with this key; a deletion without a value."""
    return {"key": {"id": id_}, "value": value, **more}


def at(second: int) -> datetime.datetime:
    """A second of one minute."""
    return datetime.datetime(2026, 1, 1, 12, 0, second, tzinfo=datetime.UTC)


def order(value: dict[str, Any]) -> list[tuple[bool, int]]:
    """What `merge.sequence.by=a,b` compares."""
    return [(value[name] is not None, value[name] or 0) for name in ("a", "b")]


def drawn(chance: random.Random, n: int) -> dict[str, Any]:
    """The value of record `n`, with any sequence."""
    return {"a": chance.choice([None, 1, 2, 3]), "b": chance.choice([None, 1, 2]), "n": n}


def write(tables: Any, writer: Callable[..., None], records: Sequence[dict[str, Any]], chance: random.Random) -> None:
    """Write records of `VALUE` in six batches."""
    cuts = [0, *sorted(chance.sample(range(1, len(records)), 5)), len(records)]
    for number, (begin, end) in enumerate(itertools.pairwise(cuts)):
        writer(tables.batch(VALUE, records[begin:end], KEY), number)
