"""Prepares a batch: encodes every record, with its pattern and its time, before anything is decided or written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from connect import DataError, Schema, SinkBatch, TopicPartition, Values, schema
from connect.converters.json_values import JsonObjects
from connect.converters.lru_cache import LruCache
from connect.data.column import Column, Constant, Plain
from connectors.objects.formats.envelope import alone, enveloped, text_of
from connectors.objects.formats.format import Encoded, Format, Payload
from connectors.objects.formats.lines import FieldsCsv, JsonLines
from connectors.objects.sink.bad_rows import BadRows, find
from connectors.objects.sink.compatibility import Compatibility
from connectors.objects.sink.object_names import Folders
from connectors.objects.sink.plan import SinkPlan
from connectors.objects.sink.rotation import Part, Rows

V = TypeVar("V")

#: Stands for the schema of records without a value, of which only keys and headers are written.
TOMBSTONE: Final = "tombstone"
_HEADERS: Final = Schema.struct(
    {"headers": Schema.array(Schema.struct({"key": schema.STRING, "value": schema.OPTIONAL_STRING}))}
)


class Batches:
    """Prepares batches by the keys of a connector."""

    def __init__(self, options: SinkPlan) -> None:
        self._options = options
        self._formats: list[tuple[str, Format]] = [("", options.format)]
        if options.keys_format is not None:
            self._formats.append((".keys", options.keys_format))
        if options.headers_format is not None:
            self._formats.append((".headers", options.headers_format))
        policy = options.evolution if options.format.by_schema else None
        self._compatibility = None if policy is None else Compatibility(policy)
        fields = options.fields or ()
        single = len(fields) == 1 and not options.enveloped and fields[0] in ("key", "value")
        self._alone = fields[0] if single else None  # Aiven's output field that is written without an object around it
        # Aiven's sink writes them, as long as nobody says what else to do with them.
        chosen = fields == ("value",) and options.config.raw.get("behavior.on.null.values")
        self._takes_nulls = bool(fields) and not chosen and not (single and options.format.by_schema)
        self._structs: LruCache[tuple[str, ...], Schema] = LruCache(1000)
        self._tuples: dict[tuple[int, ...], tuple[Any, ...]] = {}

    @property
    def longest_extension(self) -> str:
        """Of the files of a record."""
        return max((kind + form.extension for kind, form in self._formats), key=len)

    @property
    def by_schema(self) -> bool:
        """Whether a file takes records of only one schema."""
        return any(form.by_schema for _, form in self._formats)

    def adopt(self, file: tuple[Any, ...] | None, record: tuple[Any, ...]) -> tuple[Any, ...]:
        """The schemas that a file needs for a record: the file's own, if the record fits them.

        Raises:
            DataError: there are none.
        """
        if file is None or self._compatibility is None or file is record or TOMBSTONE in (file[0], record[0]):
            return record
        value: Any
        if isinstance(file[0], tuple):  # names of columns, of CSV
            value = self._adopt_columns(self._compatibility, file[0], record[0])
        else:
            value = self._compatibility.adopt(file[0], record[0])
        return file if value is file[0] and file[1:] == record[1:] else (value, *record[1:])

    def _adopt_columns(
        self, compatibility: Compatibility, file: tuple[str, ...], record: tuple[str, ...]
    ) -> tuple[str, ...]:
        """The same for columns, which have no types: each is a field that may be null."""
        if file == record:
            return file
        found = compatibility.adopt(self._struct_of(file), self._struct_of(record))
        names = tuple(field.name for field in found.fields) if found is not None else record
        return file if names == file else names

    def _struct_of(self, columns: tuple[str, ...]) -> Schema:
        """A struct with these fields: always the same object, by which what was compared is remembered."""
        found = self._structs.get(columns)
        if found is None:
            found = self._structs[columns] = Schema.struct(dict.fromkeys(columns, schema.OPTIONAL_STRING))
        return found

    def nulls(self, batch: SinkBatch) -> list[int]:
        """The rows without a value."""
        if batch.values.struct_columns is not None or isinstance(batch.values, JsonObjects):
            return []
        return [row for row, value in enumerate(batch.values) if value is None]

    def prepare(self, batch: SinkBatch) -> Prepared:
        """Prepare a batch.

        Raises:
            BadRows: for records that cannot be written.
        """
        options = self._options
        nulls = [] if self._takes_nulls else self.nulls(batch)
        if nulls and options.nulls != "write":
            missing = DataError("the record has no value. Set behavior.on.null.values=ignore to skip such records.")
            raise BadRows(dict.fromkeys(nulls, missing))
        times = self._times(batch, nulls)
        encoded = [self._encode(batch, kind, form, nulls) for kind, form in self._formats]
        return Prepared(self, options, batch, times, encoded, nulls)

    def _times(self, batch: SinkBatch, nulls: Sequence[int]) -> Sequence[int | None] | None:
        extract = self._options.extract
        if extract is None:
            return None
        return _of_others(batch, nulls, lambda part, _: extract(part)) if self._options.by_value else extract(batch)

    def formats(self, schemas: tuple[Any, ...]) -> list[tuple[int, str, Format, Any]]:
        """The files for these schemas: which of `Prepared`'s columns, extension, format, schema.

        Files of keys and headers come first: they exist when the file itself becomes visible.
        """
        found = [
            (number, kind + form.extension, form, schemas[number]) for number, (kind, form) in enumerate(self._formats)
        ]
        return [*found[1:], *([] if schemas[0] is TOMBSTONE else found[:1])]

    def project(self, batch: SinkBatch, rows: Sequence[int], target: Schema | tuple[str, ...]) -> Payload:
        """Rows whose values have another schema than their file."""
        assert self._compatibility is not None
        part = batch.take(list(rows))
        if isinstance(target, tuple):
            values = Values([{name: value.get(name) for name in target} for value in part.values])
        else:
            values = self._compatibility.project(self._values(part, ""), target)
        return self._options.format.encode(part, values).pick(range(len(rows)))

    def schemas(self, columns: Sequence[Column[Any]], nulls: Sequence[int]) -> Column[Any]:
        """The schemas of each row, as one column of tuples."""
        if all(column.constant for column in columns) and not nulls:
            return Constant(self._tuple([column[0] for column in columns]), len(columns[0]))
        rows = [self._tuple(row) for row in zip(*columns, strict=True)]
        return Plain(rows)

    def _tuple(self, parts: Sequence[Any]) -> tuple[Any, ...]:
        """The same object for the same schemas."""
        key = tuple(map(id, parts))
        found = self._tuples.get(key)
        if found is None or any(one is not other for one, other in zip(found, parts, strict=True)):
            if len(self._tuples) > 1000:
                self._tuples.clear()
            found = self._tuples[key] = tuple(parts)
        return found

    def _encode(self, batch: SinkBatch, kind: str, form: Format, nulls: Sequence[int]) -> Encoded:
        """Encode one of the columns; on failure find the bad rows."""
        if kind == "" and nulls:
            there = [row for row in range(len(batch)) if row not in set(nulls)]
            return _Some(self._encode(batch.take(there), kind, form, ()), there, len(batch)) if there else _None(batch)
        try:
            return self._encode_all(batch, kind, form)
        except DataError:
            bad = find(range(len(batch)), lambda rows: self._encode_all(batch.take(list(rows)), kind, form))
            if not bad:
                raise
            raise BadRows(bad) from None

    def _encode_all(self, batch: SinkBatch, kind: str, form: Format) -> Encoded:
        fields = self._options.fields
        if kind == "" and fields is not None and self._alone is None and isinstance(form, JsonLines):
            return form.encode_fields(batch, fields)
        return form.encode(batch, self._values(batch, kind))

    def _values(self, batch: SinkBatch, kind: str) -> Values:
        options = self._options
        if kind == ".keys":
            return batch.keys
        if kind == ".headers":
            return Values(
                [{"headers": [{"key": h.key, "value": text_of(h)} for h in row]} for row in batch.headers],
                _HEADERS,
            )
        if options.fields is None or isinstance(options.format, FieldsCsv):
            return batch.values
        if self._alone is not None:
            values = batch.keys if self._alone == "key" else batch.values
            return alone(values, self._alone) if options.format.by_schema else values
        return enveloped(batch, options.fields)


class Prepared:
    """A batch with its columns for files."""

    def __init__(
        self,
        batches: Batches,
        options: SinkPlan,
        batch: SinkBatch,
        times: Sequence[int | None] | None,
        encoded: Sequence[Encoded],
        nulls: Sequence[int],
    ) -> None:
        self._batches = batches
        self._batch = batch
        self._times = times
        self._encoded = encoded
        self._patterns = _patterns(options, batch, times, nulls)
        _check_keys(options, batch, self._patterns, batches.longest_extension)
        self._schemas = batches.schemas([each.schemas for each in encoded], nulls)
        self._sizes = _sizes(batch) if options.rules.file_bytes else None

    def by_partition(self) -> list[tuple[TopicPartition, Sequence[int]]]:
        """The rows by the partition that they were consumed from."""
        batch = self._batch
        if batch.original_topics.constant and batch.original_partitions.constant:
            return [(TopicPartition(batch.original_topics[0], batch.original_partitions[0]), range(len(batch)))]
        found: dict[tuple[str, int], list[int]] = {}
        for row, pattern in enumerate(zip(batch.original_topics, batch.original_partitions, strict=True)):
            rows = found.get(pattern)
            if rows is None:
                found[pattern] = [row]
            else:
                rows.append(row)
        return [(TopicPartition(*pattern), _range(rows)) for pattern, rows in found.items()]

    def offset(self, row: int) -> int:
        """The offset of a row."""
        return self._batch.offsets[row]

    def offsets_in(self, wanted: Iterable[str], rows: Sequence[int]) -> dict[str, list[int]]:
        """The offsets of the rows of each of these patterns, ascending."""
        patterns, offsets = self._patterns, self._batch.offsets
        found: dict[str, list[int]] = {pattern: [] for pattern in wanted}
        for row in rows:
            if (pattern := patterns[row]) in found:
                found[pattern].append(offsets[row])
        return found

    def patterns(self, rows: Sequence[int]) -> set[str]:
        """The patterns of rows."""
        patterns = self._patterns
        return {patterns[rows[0]]} if patterns.constant else {patterns[row] for row in rows}

    def beyond(self, rows: Sequence[int], behind: Mapping[str, int]) -> Sequence[int]:
        """The rows that no other object holds already.

        Args:
            rows: of one partition.
            behind: patterns, and the last offsets in existing objects.
        """
        patterns, offsets = self._patterns, self._batch.offsets
        return [row for row in rows if offsets[row] > behind.get(patterns[row], -1)]

    def rows(self, rows: Sequence[int]) -> Rows:
        """What rotation needs to know about them."""
        return Rows(rows, self._batch.offsets, self._patterns, self._schemas, self._times, self._sizes)

    def formats(self, part: Part) -> list[tuple[int, str, Format, Any]]:
        """See `Batches.formats`."""
        return self._batches.formats(part.schema)

    def payloads(self, part: Part, rows: Sequence[int]) -> list[list[Payload]]:
        """The rows for each file of a part, in the order of `formats`; a file may get several payloads.

        Raises:
            BadRows: for records that do not fit the schema of their file.
        """
        return [
            self._values(part.schema[0], rows) if number == 0 else [self._encoded[number].pick(rows)]
            for number, _, _, _ in self.formats(part)
        ]

    def _values(self, target: Any, rows: Sequence[int]) -> list[Payload]:
        schemas = self._schemas
        if schemas.constant:
            alike = [schemas[0][0] is target or schemas[0][0] == target] * len(rows)
        else:
            alike = [schemas[row][0] is target or schemas[row][0] == target for row in rows]
        found = []
        for same, run in _runs(rows, alike):
            if same or not self._batches.by_schema:
                found.append(self._encoded[0].pick(run))
                continue
            try:
                found.append(self._batches.project(self._batch, run, target))
            except DataError:
                raise BadRows(find(run, lambda some: self._batches.project(self._batch, some, target))) from None
        return found


def _runs(rows: Sequence[int], alike: Sequence[bool]) -> list[tuple[bool, Sequence[int]]]:
    if all(alike):
        return [(True, rows)]
    found: list[tuple[bool, list[int]]] = []
    for row, same in zip(rows, alike, strict=True):
        if found and found[-1][0] == same:
            found[-1][1].append(row)
        else:
            found.append((same, [row]))
    return list(found)


def _range(rows: list[int]) -> Sequence[int]:
    return range(rows[0], rows[-1] + 1) if rows[-1] - rows[0] == len(rows) - 1 else rows


def _of_others(
    batch: SinkBatch, nulls: Sequence[int], work: Callable[[SinkBatch, Sequence[int]], Sequence[V]]
) -> list[V | None]:
    """What `work` returns for the rows with a value, each at its row; it gets their batch, and which they are."""
    gone = set(nulls)
    there = [row for row in range(len(batch)) if row not in gone]
    found: list[V | None] = [None] * len(batch)
    try:
        values = work(batch.take(there) if gone else batch, there) if there else ()
    except BadRows as bad:
        raise BadRows({there[row]: error for row, error in bad.rows.items()}) from None
    for row, value in zip(there, values, strict=True):
        found[row] = value
    return found


def _patterns(
    options: SinkPlan, batch: SinkBatch, times: Sequence[int | None] | None, nulls: Sequence[int]
) -> Column[str]:
    if not nulls:
        return options.names.of(batch, times)  # type: ignore[arg-type]  # each has a time
    assert isinstance(options.names, Folders)
    names = options.names
    # A record without a value has no field to name a folder.
    found: list[Any] = _of_others(
        batch,
        nulls,
        lambda part, rows: names.of(part, times and [times[row] for row in rows]),  # type: ignore[arg-type]
    )
    for row, pattern in zip(nulls, options.names.in_folder(batch.take(list(nulls)), options.tombstones), strict=True):
        found[row] = pattern
    return Plain(found)


def _check_keys(options: SinkPlan, batch: SinkBatch, patterns: Column[str], extension: str) -> None:
    """Raise `BadRows` for records whose objects cannot exist in the store: see `KeyLimits`."""
    names, limits = options.names, options.key_limits
    offsets = batch.offsets

    def refusal(row: int) -> str:
        # The file begins with this record or an earlier one, so that its key is not longer.
        return limits.refusal(names.key(patterns[row], offsets[row]) + extension, names.top)

    # The last offset has the most digits: most patterns are good for all of their rows.
    last = len(batch) - 1
    ends = {patterns[last]: last} if patterns.constant else {pattern: row for row, pattern in enumerate(patterns)}
    doubtful = {pattern for pattern, row in ends.items() if refusal(row)}
    if not doubtful:
        return
    bad = {}
    for row, pattern in enumerate(patterns):
        if pattern in doubtful and (why := refusal(row)):
            bad[row] = DataError(
                f'its object cannot have this name: {why}. The name is made from the topic "{batch.topics[row]}"'
                f"{names.made_from}."
            )
    raise BadRows(bad)


def _sizes(batch: SinkBatch) -> list[int]:
    """How many bytes of key and value each record has in Kafka."""
    raw = batch.consumed
    values, keys = raw.values.to_list(), raw.keys.to_list()
    return [_length(values[row]) + _length(keys[row]) for row in batch.rows]


def _length(data: Any) -> int:
    return len(data) if isinstance(data, bytes | str) else 0


class _Some(Encoded):
    """Some rows of a batch; the others have no value."""

    def __init__(self, encoded: Encoded, rows: Sequence[int], length: int) -> None:
        self._encoded = encoded
        self._index = {row: index for index, row in enumerate(rows)}
        schemas = encoded.schemas
        self.schemas = Plain([schemas[self._index[row]] if row in self._index else TOMBSTONE for row in range(length)])

    def pick(self, rows: Sequence[int]) -> Payload:
        return self._encoded.pick([self._index[row] for row in rows])


class _None(Encoded):
    """No row has a value."""

    def __init__(self, batch: SinkBatch) -> None:
        self.schemas = Constant(TOMBSTONE, len(batch))

    def pick(self, rows: Sequence[int]) -> Payload:
        raise AssertionError("of these only keys and headers are written")
