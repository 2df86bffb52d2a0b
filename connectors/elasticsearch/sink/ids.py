"""The ids, versions and routing of documents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import orjson

from connect import DataError, SinkBatch, Text, Values
from connectors.elasticsearch.sink.choices import BY_CLUSTER, BY_KEY
from connectors.elasticsearch.sink.keys import SinkOptions

#: A column of JSON texts, or for a row why it has none.
Cell = bytes | DataError | None


def ids_of(options: SinkOptions, topic: str, batch: SinkBatch) -> list[Any] | None:
    """The id of each record's document, as JSON; DataError where the key cannot be one. None: the cluster chooses.

    Args:
        topic: of the records, as transformations left it.
        batch: records of this topic.
    """
    kind = options.ids_of(topic)
    if kind == BY_CLUSTER:
        return None
    if kind == BY_KEY:
        return keys_of(batch.keys)
    # Where it was consumed, not where transformations would have it: two topics in one index must not meet in one id.
    if batch.original_topics.constant and batch.original_partitions.constant and len(batch):
        start = orjson.dumps(f"{batch.original_topics[0]}+{batch.original_partitions[0]}+")[:-1] + b'%d"'
        return [start % offset for offset in batch.offsets]
    origins = zip(batch.original_topics, batch.original_partitions, batch.offsets, strict=True)
    return [orjson.dumps(f"{name}+{partition}+{offset}") for name, partition, offset in origins]


def keys_of(keys: Values) -> list[Any]:
    """The text of each key, as JSON."""
    if isinstance(keys, Text) and (encoded := keys.encoded()) and None not in encoded:
        texts = [key for key in encoded if key]
        if len(texts) == len(encoded) and b"".join(texts).isalnum():
            return [b'"%b"' % key for key in texts]
    return [_key(key) for key in keys]


def _key(key: Any) -> bytes | DataError:
    if isinstance(key, str):
        return _json(key) if key else DataError("The key is empty, and a document's id cannot be.")
    if isinstance(key, int) and not isinstance(key, bool):
        return b'"%d"' % key
    if key is None:
        return DataError("The record has no key, which is to be its document's id. Set key.ignore=true.")
    kind = {dict: "a struct or map", list: "an array", bytes: "bytes", bool: "a boolean", float: "a float"}
    said = kind.get(type(key), type(key).__name__)
    return DataError(
        f"The key is {said}, and a document's id is a text or a whole number. Choose a field, for example with "
        "ExtractField$Key, or set key.ignore=true."
    )


def versions_of(options: SinkOptions, topic: str, batch: SinkBatch) -> list[Any] | None:
    """The version of each record's document; DataError where the header is missing. None: no versions are set."""
    if not options.versioned(topic):
        return None
    if not options.version_header:
        return batch.offsets.to_list()
    return [_version(headers.last(options.version_header), options.version_header) for headers in batch.headers]


def _version(header: Any, name: str) -> int | DataError:
    value = None if header is None else header.value
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    try:
        if isinstance(value, str | int) and not isinstance(value, bool):
            return int(value)
    except ValueError:
        pass
    said = "is missing" if header is None else "is not a whole number"
    return DataError(f"The header {name}, the document's version (external.version.header), {said}.")


def routes_of(options: SinkOptions, batch: SinkBatch) -> list[Any] | None:
    """The routing of each record's document, as JSON; None for a row: by its id. None: all are."""
    if options.routing == "none":
        return None
    if options.routing == "key":
        return [None if key is None else _key(key) for key in batch.keys]
    return [_route(found) for found in fields(batch.values, options.routing_path or ())]


def _route(value: Any) -> bytes | DataError | None:
    if value is None:
        return None
    return _json(str(value).lower() if isinstance(value, bool) else str(value))


def _json(text: str) -> bytes | DataError:
    try:
        return orjson.dumps(text)
    except TypeError:
        return DataError("The document's id or routing has half a character (a lone surrogate), which UTF-8 does not.")


def fields(values: Values, path: Sequence[str]) -> list[Any]:
    """The field at a path of each value; None where it is missing. A text with JSON is parsed."""
    found: list[Any] = [None] * len(values)
    first, *rest = path
    for rows, group in values.groups():
        held = group.struct_columns
        column = held.field(first) if held is not None and held.struct.field(first) is not None else None
        items = [_inside(_parsed(item), first) for item in group.to_list()] if column is None else column.items
        for row, item in zip(rows, items, strict=True):
            found[row] = reduce(_inside, rest, item)
    return found


def _parsed(item: Any) -> Any:
    if isinstance(item, str | bytes):
        try:
            return orjson.loads(item)
        except orjson.JSONDecodeError:
            return None
    return item


def _inside(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else None
