"""Records from the documents of a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from connect import ConnectError, Header, Headers, SourceBatch, Text, Values, schema
from connect.data import Deferred
from connectors.elasticsearch.source import keys, offsets
from connectors.elasticsearch.source.mapping import Mapped, Unfitting
from connectors.elasticsearch.source.pages import Hit, Page
from connectors.elasticsearch.source.shards import Shard, stream_or_index

_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9._-]")
_TEXTS: Final = {"_index": "index", "_id": "id", "_routing": "routing"}
_NUMBERS: Final = {"_seq_no": "seq_no", "_primary_term": "primary_term", "_version": "version"}


class Records:
    """Makes batches of records.

    Args:
        options: the connector's keys.
        properties: of an index's mapping, read on demand.
    """

    def __init__(self, options: keys.SourceOptions, properties: Callable[[str], Mapping[str, Any]]) -> None:
        self._topic = options.topic_prefix + options.topic_name
        self._format = options.value_format
        self._with_id = options.record_key == keys.ID
        self._headers = options.headers
        self._field = options.cursor
        self._arrays = options.array_fields
        self._properties = properties
        self._mapped: dict[tuple[str, str], Mapped] = {}

    @property
    def asked_for(self) -> dict[str, Any]:
        """What a search must return beside documents."""
        asked = {}
        if {"_seq_no", "_primary_term"} & set(self._headers):
            asked["seq_no_primary_term"] = True
        if "_version" in self._headers:
            asked["version"] = True
        return asked

    def topic(self, index: str) -> str:
        """The topic of an index's documents."""
        return _ILLEGAL.sub("_", self._topic.replace("${index}", stream_or_index(index)))[:249]

    def batch(self, page: Page) -> SourceBatch:
        """The records of a page that has documents.

        Raises:
            ConnectError: a document does not fit the schema of its index.
        """
        hits, shard = page.hits, page.shard
        return SourceBatch(
            self.topic(shard.index),
            self._values(hits, shard),
            keys=Values([hit.id for hit in hits], schema.STRING) if self._with_id else None,
            headers=[self._made_headers(hit) for hit in hits] if self._headers else None,
            source_partitions=shard.partition,
            source_offsets=self._offsets(hits, shard),
        )

    def _offsets(self, hits: list[Hit], shard: Shard) -> Deferred[Mapping[str, Any]]:
        field = self._field

        def offset(row: int) -> Mapping[str, Any]:
            return offsets.stored(shard.uuid, field, hits[row].sort)

        return Deferred(len(hits), lambda: list(map(offset, range(len(hits)))), offset)

    def _values(self, hits: list[Hit], shard: Shard) -> Values:
        texts: list[bytes | None] = [bytes(hit.source) for hit in hits]
        if not all(texts):
            bare = next(hit.id for hit, text in zip(hits, texts, strict=True) if not text)
            raise ConnectError(
                f'{shard}: document "{bare}" has no _source: the index was made without. It cannot be read.'
            )
        if self._format == keys.JSON:
            return Text(texts, schema.STRING, valid=True)
        documents = list(map(orjson.loads, texts))  # type: ignore[arg-type]
        if self._format == keys.SCHEMALESS:
            return Values(documents)
        return self._structs(documents, shard)

    def _structs(self, documents: list[dict[str, Any]], shard: Shard) -> Values:
        origin = (shard.index, shard.uuid)
        known = self._mapped.get(origin)
        if known is not None:
            try:
                return known.values(documents)
            except Unfitting:
                pass  # the mapping may have grown since
        known = self._mapped[origin] = Mapped(stream_or_index(shard.index), self._properties(shard.index), self._arrays)
        try:
            return known.values(documents)
        except Unfitting as error:
            raise ConnectError(f"{shard}: {error}. Or use value.format=schemaless.") from error

    def _made_headers(self, hit: Hit) -> Headers:
        made = []
        for name in self._headers:
            if name in _TEXTS:
                made.append(Header(name, getattr(hit, _TEXTS[name]), schema.OPTIONAL_STRING))
            else:
                made.append(Header(name, getattr(hit, _NUMBERS[name]), schema.INT64))
        return Headers(made)
