"""Records as the lines of bulk requests: an action and, unless it deletes, a document.

https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

import orjson

from connect import DataError, Schema, SinkBatch, TopicPartition, Values
from connect.data.unavailable import Placeholder
from connectors.elasticsearch.sink.choices import DELETE, FAIL, INSERT, UPSERT
from connectors.elasticsearch.sink.documents import Documents, timed, written
from connectors.elasticsearch.sink.ids import fields, ids_of, routes_of, versions_of
from connectors.elasticsearch.sink.keys import SinkOptions
from connectors.elasticsearch.sink.naming import Naming

#: How often the cluster itself tries a partial update again that another one came between.
_RETRY_ON_CONFLICT: Final = b',"retry_on_conflict":3'


#: Records of one topic that go to one target: both, a schema of their values, they.
Part = tuple[str, str, Schema | None, SinkBatch]


@dataclass(slots=True)
class Lines:
    """Records of one batch that go to one target.

    Attributes:
        batch, rows: their origin.
        items: for each, its action and document, each line with its end.
        ids: of each document whose order matters, None where it does not.
        deleted: the number of deletions.
    """

    target: str
    batch: SinkBatch
    rows: Sequence[int]
    items: list[bytes]
    ids: list[bytes] | None
    deleted: int = 0

    def between(self, start: int, stop: int) -> Lines:
        """A part of them."""
        if start == 0 and stop == len(self.items):
            return self
        ids = None if self.ids is None else self.ids[start:stop]
        items = self.items[start:stop]
        deleted = sum(map(is_deletion, items)) if self.deleted else 0
        return Lines(self.target, self.batch, self.rows[start:stop], items, ids, deleted)

    def without(self, partitions: Collection[TopicPartition]) -> Lines:
        """Those that were consumed from other partitions."""
        topics, numbers = self.batch.original_topics, self.batch.original_partitions
        kept = [at for at, row in enumerate(self.rows) if TopicPartition(topics[row], numbers[row]) not in partitions]
        if len(kept) == len(self.rows):
            return self
        ids = None if self.ids is None else [self.ids[at] for at in kept]
        items = [self.items[at] for at in kept]
        deleted = sum(map(is_deletion, items)) if self.deleted else 0
        return Lines(self.target, self.batch, [self.rows[at] for at in kept], items, ids, deleted)


def is_deletion(item: bytes) -> bool:
    """Whether a line deletes."""
    return item.startswith(b'{"delete"')


class Writer:
    """Makes lines of batches.

    Raises:
        ConfigError: see `Naming`.
    """

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._naming = Naming(options)
        self._documents = Documents(options.compact_maps)
        text = options.unavailable if options.method == UPSERT else None
        self._placeholder = Placeholder(text) if text else None

    def parts(self, batch: SinkBatch) -> tuple[list[Part], dict[int, DataError]]:
        """The parts of a batch, and its rows without a target with the reason."""
        found: list[Part] = []
        wrong: dict[int, DataError] = {}
        for topic, of_topic, indexes in _by_topic(batch):
            named, problems = self._naming.targets(topic, of_topic)
            for row, why in problems.items():
                # What becomes of a record without a value may need no index, which its value would say.
                null = self._of_null(of_topic, row, b"") if of_topic.values[row] is None else None
                if null is not True:
                    wrong[indexes[row]] = null or DataError(why)
            for target, rows in named.items():
                part = of_topic if len(rows) == len(of_topic) else of_topic.take(rows)
                found.append((topic, target, _a_schema(part), part))
        return found, wrong

    def lines(self, topic: str, target: str, batch: SinkBatch) -> tuple[Lines, dict[int, DataError]]:
        """The lines of records of one topic that go to one target, and the rows that have none with the reason.

        Ignored records without a value have none, and no reason.
        """
        options = self._options
        documents, wrong = self._documents.of(batch.values)
        ids = ids_of(options, topic, batch)
        versions = versions_of(options, topic, batch)
        routes = routes_of(options, batch)
        if options.to_streams:
            documents = self._with_time(batch, documents)
        count, ordered = len(documents), options.ordered(topic)
        usual = not wrong and routes is None and None not in documents and ids is not None
        if usual and options.method == INSERT and not options.to_streams and all(map(_is_bytes, ids or ())):
            # The way of nearly all batches.
            assert ids is not None
            index = orjson.dumps(target)
            if versions is None:
                form = b'{"index":{"_index":%b,"_id":%%b}}\n%%b\n' % index.replace(b"%", b"%%")
                items = [form % each for each in zip(ids, documents, strict=True)]
                return Lines(target, batch, range(count), items, ids if ordered else None), {}
            if all(map(_is_int, versions)):
                form = (
                    b'{"index":{"_index":%b,"_id":%%b,"version":%%d,"version_type":"external"}}\n%%b\n'
                    % index.replace(b"%", b"%%")
                )
                items = [form % each for each in zip(ids, versions, documents, strict=True)]
                return Lines(target, batch, range(count), items, ids if ordered else None), {}
        return self._one_by_one(target, batch, (documents, ids, versions, routes), wrong, ordered=ordered)

    def _parts_of(self, values: Values) -> dict[int, bytes | None]:
        """By row, what is written into a document that is there, where the record lacks values."""
        found: dict[int, bytes | None] = {}
        for rows, some in self._placeholder.lacking(values) if self._placeholder is not None else ():
            documents, _ = self._documents.of(some)
            found.update(zip(rows, documents, strict=True))
        return found

    def _one_by_one(
        self,
        target: str,
        batch: SinkBatch,
        columns: tuple[Any, Any, Any, Any],
        wrong: dict[int, DataError],
        *,
        ordered: bool,
    ) -> tuple[Lines, dict[int, DataError]]:
        documents, ids, versions, routes = columns
        nothing: Any = repeat(None)
        rows: list[int] = []
        items: list[bytes] = []
        kept: list[bytes] = []
        deleted = 0
        index = orjson.dumps(target)
        parts = self._parts_of(batch.values)
        cells = zip(documents, ids or nothing, versions or nothing, routes or nothing, strict=False)
        for row, (document, id_, version, route) in enumerate(cells):
            if row in wrong:
                continue
            if document is None and (found := self._of_null(batch, row, id_)) is not None:
                if isinstance(found, DataError):
                    wrong[row] = found
                continue
            errors = [each for each in (id_, version, route) if isinstance(each, DataError)]
            if errors:
                wrong[row] = errors[0]
                continue
            items.append(self._item(index, document, id_, version, route, parts.get(row)))
            deleted += document is None
            rows.append(row)
            kept.append(id_ if route is None or id_ is None else id_ + route)
        return Lines(target, batch, rows, items, kept if ordered and ids is not None else None, deleted), wrong

    def _of_null(self, batch: SinkBatch, row: int, id_: Any) -> DataError | bool | None:
        """The meaning of a record without a value: an error, nothing (True), or None for a deletion."""
        if self._options.nulls == FAIL:
            return DataError("The record has no value (behavior.on.null.values=fail; there are ignore and delete).")
        if self._options.nulls != DELETE or self._options.to_streams:
            return True
        # Who has no key can be nobody's deletion.
        return True if id_ is None or batch.keys[row] is None else None

    def _item(
        self,
        index: bytes,
        document: bytes | None,
        id_: bytes | None,
        version: int | None,
        route: bytes | None,
        part: bytes | None,
    ) -> bytes:
        method = self._options.method
        where = b'"_index":' + index
        if id_ is not None:
            where += b',"_id":' + id_
        if route is not None:
            where += b',"routing":' + route
        if version is not None:
            where += b',"version":%d,"version_type":"external"' % version
        if document is None:
            return b'{"delete":{%b}}\n' % where
        if method == INSERT:
            return b'{"%b":{%b}}\n%b\n' % (b"create" if self._options.to_streams else b"index", where, document)
        if method != UPSERT:
            body = self._scripted(document)
        elif part is not None:
            body = b'{"doc":%b,"upsert":%b}' % (part, document)
        else:
            body = b'{"doc":%b,"doc_as_upsert":true}' % document
        return b'{"update":{%b%b}}\n%b\n' % (where, _RETRY_ON_CONFLICT, body)

    def _scripted(self, document: bytes) -> bytes:
        script = orjson.dumps(self._options.script)
        body = b'{"script":%b,"params":{"doc":%b}}' % (script[:-1], document)  # params is one of the script's own keys
        match self._options.script_upsert:
            case "document":
                return body + b',"upsert":%b}' % document
            case "script":
                return body + b',"scripted_upsert":true,"upsert":{}}'
        return body + b"}"

    def _with_time(self, batch: SinkBatch, documents: list[bytes | None]) -> list[bytes | None]:
        """The documents with the time that data streams require."""
        field = self._options.time_field
        columns = [fields(batch.values, (name,)) for name in (*self._options.time_fields, field)]
        found: list[bytes | None] = []
        for row, (document, made) in enumerate(zip(documents, batch.timestamps, strict=True)):
            *others, own = (column[row] for column in columns)
            named = next((each for each in others if each is not None), None)
            if document is None or (named is None and own is not None):
                found.append(document)
                continue
            found.append(timed(document, field, written(made if named is None else named)))
        return found


def _by_topic(batch: SinkBatch) -> list[tuple[str, SinkBatch, Sequence[int]]]:
    """Each topic's records, and which rows they are."""
    if batch.topics.constant:
        return [(batch.topics[0], batch, range(len(batch)))] if len(batch) else []
    rows: dict[str, list[int]] = {}
    for row, topic in enumerate(batch.topics):
        rows.setdefault(topic, []).append(row)
    return [(topic, batch.take(chosen), chosen) for topic, chosen in rows.items()]


def _a_schema(batch: SinkBatch) -> Schema | None:
    """The schema of the first value that has one."""
    schemas = batch.values.schemas
    return schemas[0] if schemas.constant else next((each for each in schemas if each is not None), None)


def _is_bytes(value: Any) -> bool:
    return type(value) is bytes


def _is_int(value: Any) -> bool:
    return type(value) is int
