"""Posts into records: fields of the API's JSON that the schema lacks are left out, unfitting values are null."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from connect import Schema, SourceBatch, Type, Values, schema
from connect.api.metrics import PluginMetrics
from connect.data import logical
from connectors.twitter import ids, keys
from connectors.twitter.includes import Includes, Json
from connectors.twitter.keys import TwitterOptions
from connectors.twitter.schemas import RESOLVED, WITH_ARRAYS

log = logging.getLogger(__name__)

#: Gives the value as the schema has it, and notes the path of what does not fit.
Fit = Callable[[Any, list[str]], Any]

_LOW: Final = -(1 << 63)
_HIGH: Final = 1 << 63


def fit(schema: Schema, path: str = "tweet") -> Fit:
    """A function that makes a value of this schema from JSON. X changes its API: a post is not lost for that."""
    inner: Fit
    if schema.name == logical.TIMESTAMP_NAME:
        inner = _time
    elif schema.type is Type.STRUCT:
        inner = _struct(schema, path)
    elif schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        inner = _array(schema.value_schema, f"{path}[]")
    else:
        inner = _PLAIN[schema.type]

    def fitted(value: Any, misfits: list[str]) -> Any:
        if value is None:
            return None
        try:
            return inner(value, misfits)
        except (TypeError, ValueError, OverflowError):
            misfits.append(path)
            return None

    return fitted


def _struct(schema: Schema, path: str) -> Fit:
    fields = [(field.name, fit(field.schema, f"{path}.{field.name}")) for field in schema.fields]
    needed = [field.name for field in schema.fields if not field.schema.optional]

    def fitted(value: Any, misfits: list[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise TypeError
        get = value.get
        made = {name: make(get(name), misfits) for name, make in fields}
        if any(made[name] is None for name in needed):
            raise TypeError
        return made

    return fitted


def _array(element: Schema, path: str) -> Fit:
    make = fit(element, path)

    def fitted(value: Any, misfits: list[str]) -> list[Any]:
        if not isinstance(value, list):
            raise TypeError
        made = [make(each, misfits) for each in value]
        return made if element.optional else [each for each in made if each is not None]

    return fitted


def _text(value: Any, _: list[str]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError


def _whole(value: Any, _: list[str]) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not _LOW <= value < _HIGH:
        raise TypeError
    return value


def _number(value: Any, _: list[str]) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    return float(value)


def _flag(value: Any, _: list[str]) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _time(value: Any, _: list[str]) -> dt.datetime:
    moment = dt.datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


_PLAIN: Final[dict[Type, Fit]] = {
    Type.STRING: _text,
    Type.INT64: _whole,
    Type.FLOAT64: _number,
    Type.BOOLEAN: _flag,
}


@dataclass(frozen=True, slots=True)
class Post:
    """One post.

    Attributes:
        id: as a number.
        json: the post.
        includes: the objects of its response.
        matching_rules: of the stream; None for others.
        raw: the whole line of the stream; None for others.
        size: its approximate bytes in the response.
    """

    id: int
    json: Json
    includes: Includes
    matching_rules: Any = None
    raw: bytes | None = None
    size: int = 0

    @classmethod
    def of(
        cls, json: Any, includes: Includes, matching_rules: Any = None, raw: bytes | None = None, size: int = 0
    ) -> Post:
        """Read its id.

        Raises:
            ValueError: it has none.
        """
        found = json.get("id") if isinstance(json, dict) else None
        if not isinstance(found, str) or not (found.isascii() and found.isdigit()) or int(found) > ids.MOST:
            raise ValueError("no id")
        return cls(int(found), json, includes, matching_rules, raw, size)


class Records:
    """Makes batches of posts. The key is the post's id; the timestamp is its time."""

    def __init__(self, options: TwitterOptions, metrics: PluginMetrics) -> None:
        self._topic = options.topic
        self._raw = options.record_format == keys.RAW
        self._resolve = options.includes == keys.RESOLVE
        self._schema = RESOLVED if self._resolve else WITH_ARRAYS
        self._fit = fit(self._schema)
        self._metrics = metrics
        self._named: set[str] = set()

    def batch(
        self,
        posts: Sequence[Post],
        partition: Mapping[str, Any],
        offsets: Sequence[Mapping[str, Any]],
        source: str,
    ) -> SourceBatch:
        """A batch of posts of one source partition.

        Args:
            posts: in the order of the batch.
            partition: their source partition.
            offsets: of each.
            source: for metrics: stream, search, timeline or backfill.
        """
        self._metrics.count("twitter_records_read_total", len(posts), source=source)
        if self._raw:
            values = Values([self._text(post) for post in posts], schema.STRING)
        else:
            values = Values([self._struct(post) for post in posts], self._schema)
        return SourceBatch(
            self._topic,
            values,
            keys=Values([str(post.id) for post in posts], schema.STRING),
            timestamps=[ids.made_at(post.id) for post in posts],
            source_partitions=partition,
            source_offsets=list(offsets),
        )

    def _text(self, post: Post) -> str:
        if post.raw is not None:
            return post.raw.decode("utf-8", "replace")
        includes = post.includes.of(post.json)
        return orjson.dumps({"data": post.json, **({"includes": includes} if includes else {})}).decode()

    def _struct(self, post: Post) -> Json:
        if self._resolve:
            whole = post.includes.resolved(post.json)
        else:
            whole = {**post.json, "includes": post.includes.of(post.json) or None}
        whole["matching_rules"] = post.matching_rules
        misfits: list[str] = []
        made: Json = self._fit(whole, misfits)
        for path in misfits:
            self._metrics.count("twitter_misfits_total", field=path)
            if path not in self._named:
                self._named.add(path)
                log.warning("X sends %s in a form that its schema has not: it is null in records.", path)
        return made
