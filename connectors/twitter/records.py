"""Posts into records."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from connect import SourceBatch, Values, schema
from connect.api.metrics import PluginMetrics
from connectors.twitter import ids, keys
from connectors.twitter.fitting import fit
from connectors.twitter.includes import Includes, Json
from connectors.twitter.keys import TwitterOptions
from connectors.twitter.schemas import RESOLVED, WITH_ARRAYS

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Post:
    """One post as it came.

    Attributes:
        id: as a number.
        json: the post.
        includes: the objects of the answer that it came in.
        matching_rules: of the stream; None where it came otherwise.
        raw: the whole line of the stream; None where it came otherwise.
        size: about how many bytes it took on its way.
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
    """Makes batches of posts. The key is the post's id; the timestamp is when it was made."""

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
            posts: in the order in which they are to stand.
            partition: where they come from.
            offsets: of each.
            source: where they come from, for metrics: stream, search, timeline or backfill.
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
