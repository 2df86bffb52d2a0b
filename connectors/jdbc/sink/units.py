"""The records of one table as fields: those of the key and those of the value, for each pair of schemas a unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from connect import SchemaError, SinkBatch, Type, Values
from connect.data.schema import INT32, INT64, STRING, Schema
from connect.data.struct_columns import FieldColumn
from connect.data.tables import schema_of
from connect.data.unavailable import Placeholder
from connectors.jdbc.sink.envelope import opened
from connectors.jdbc.sink.errors import RowError
from connectors.jdbc.sink.keys import KAFKA, NONE, RECORD_HEADER, RECORD_KEY, RECORD_VALUE, JdbcSinkOptions

Fields = Mapping[str, FieldColumn]


@dataclass(frozen=True, slots=True)
class Unit:
    """Records of one table with the same fields.

    Attributes:
        rows: where they are in the batch, ascending.
        keys: the fields of the primary key.
        values: the other fields; None for records that are deletions.
        kept: those of them of which the records have no value: rows that are there keep theirs.
    """

    rows: Sequence[int]
    keys: Fields
    values: Fields | None
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Records:
    """A batch's changes to one table.

    Attributes:
        emptied: the row of the last event that the table was emptied, if any: earlier rows are void.
    """

    units: list[Unit]
    emptied: int | None = None


class Reader:
    """Takes the batches of one table apart.

    Args:
        options: see there.
    """

    def __init__(self, options: JdbcSinkOptions) -> None:
        self._options = options
        self._inferred: dict[str, Schema] = {}
        self._placeholder = Placeholder(options.unavailable) if options.unavailable else None
        self._topics_differ = any(topic is not None for topic, _ in options.included | options.excluded)

    def records(self, batch: SinkBatch) -> Records:
        """The units of a batch whose records all belong to one table.

        Raises:
            RowError: a record has no such fields: no key, no schema, no struct.
        """
        options, values = self._options, batch.values
        emptied: int | None = None
        skipped: set[int] = set()
        if options.debezium:
            values, truncations, nothing = opened(values)
            skipped.update(truncations, nothing)
            if truncations and options.truncates:
                emptied = truncations[-1]
                skipped.update(range(emptied))
        units: list[Unit] = []
        tombstones = _tombstones(values)
        keys = [(range(len(batch)), {})] if options.pk_mode in (NONE, RECORD_VALUE) else self._keys(batch, skipped)
        for rows, group in _present(values):
            chosen, fields = self._without(skipped, rows, self._fields(group, options.value_column, "value"))
            for members, own_keys, own in self._by_topic(batch, _paired(chosen, fields, keys)):
                units += [self._unit(batch, *part) for part in self._by_unavailable(members, own_keys, own)]
        gone = [row for row in tombstones if row not in skipped]
        if gone:
            units.extend(self._deletions(gone, keys))
        return Records(units, emptied)

    # Fields.

    def _fields(self, values: Values, wrap: str | None, what: str) -> Fields:
        """The fields of values of one schema, none of them null."""
        schema, held = values.schemas[0], values.struct_columns
        if held is not None:
            return {field.name: column for field, column in zip(held.struct.fields, held.fields, strict=True)}
        if schema is not None and schema.type is Type.STRUCT:
            items = values.to_list()
            return {
                field.name: FieldColumn(field.schema, [item.get(field.name) for item in items])
                for field in schema.fields
            }
        if schema is None:
            return self._inferred_fields(values, wrap, what)
        if wrap is None or not schema.type.is_primitive:
            need = "a struct" if wrap is not None else "a struct, or one name in pk.fields for a plain key"
            raise RowError(f"its {what} is of type {schema.type.value}, where {need} is needed.")
        return {wrap: FieldColumn(schema, values.to_list())}

    def _inferred_fields(self, values: Values, wrap: str | None, what: str) -> Fields:
        if not self._options.inference:
            raise RowError(
                f"its {what} has no schema, and a table requires a schema. Use a converter with schemas "
                "(value.converter.schemas.enable=true, or a registry), or set schemaless.inference=true."
            )
        try:
            schema = self._inferred[what] = schema_of(values, self._inferred.get(what), wrap=wrap)
        except SchemaError as error:
            raise RowError(f"its {what}: {error}") from error
        items = [item if isinstance(item, dict) else {wrap: item} for item in values.to_list()]
        names = set().union(*items)
        return {
            field.name: FieldColumn(field.schema, [item.get(field.name) for item in items])
            for field in schema.fields
            if field.name in names
        }

    def _by_topic(
        self, batch: SinkBatch, parts: list[tuple[Sequence[int], Fields, Fields]]
    ) -> Iterator[tuple[Sequence[int], Fields, Fields]]:
        """The same rows, those of each topic on their own where topics have lists of fields of their own."""
        for rows, keys, fields in parts:
            places: dict[str, list[int]] = {}
            if self._topics_differ:
                for at, row in enumerate(rows):
                    places.setdefault(batch.topics[row], []).append(at)
            if len(places) < 2:
                yield rows, keys, fields
                continue
            for own in places.values():
                yield [rows[at] for at in own], _taken(keys, own), _taken(fields, own)

    def _by_unavailable(
        self, rows: Sequence[int], keys: Fields, fields: Fields
    ) -> Iterator[tuple[Sequence[int], Fields, Fields, frozenset[str]]]:
        """The same rows, each time those without a value of the same fields."""
        lacking = {} if self._placeholder is None else self._placeholder.lacking_in(fields)
        if not lacking:
            yield rows, keys, fields, frozenset()
            return
        places: dict[frozenset[str], list[int]] = {}
        for at in range(len(rows)):
            places.setdefault(frozenset(lacking.get(at, ())), []).append(at)
        for names, own in places.items():
            yield [rows[at] for at in own], _taken(keys, own), _taken(fields, own), names

    def _unit(
        self, batch: SinkBatch, rows: Sequence[int], keys: Fields, fields: Fields, unavailable: frozenset[str]
    ) -> Unit:
        options = self._options
        if options.pk_mode == RECORD_VALUE:
            names = options.pk_fields or tuple(fields)
            if missing := [name for name in names if name not in fields]:
                raise RowError(f'its value has no field "{missing[0]}", which pk.fields makes part of the key.')
            keys = {name: fields[name] for name in names}
        topic = batch.topics[rows[0]] if options.included or options.excluded else ""
        kept = {name: column for name, column in fields.items() if name not in keys and self._wanted(topic, name)}
        if not keys and not kept:
            raise RowError("no field of it is written: there are none, or fields.whitelist names none of them.")
        return Unit(rows, keys, kept, unavailable.intersection(kept))

    def _wanted(self, topic: str, name: str) -> bool:
        included, excluded = self._options.included, self._options.excluded
        if included and (None, name) not in included and (topic, name) not in included:
            return False
        return (None, name) not in excluded and (topic, name) not in excluded

    # Keys.

    def _keys(self, batch: SinkBatch, skipped: set[int]) -> list[tuple[Sequence[int], Fields]]:
        options = self._options
        if options.pk_mode == KAFKA:
            columns = (
                FieldColumn(STRING, batch.original_topics.to_list()),
                FieldColumn(INT32, batch.original_partitions.to_list()),
                FieldColumn(INT64, batch.offsets.to_list()),
            )
            return [(range(len(batch)), dict(zip(options.pk_fields, columns, strict=True)))]
        if options.pk_mode == RECORD_HEADER:
            return self._headers(batch)
        found: list[tuple[Sequence[int], Fields]] = []
        keys = batch.keys
        if not skipped.issuperset(_tombstones(keys)):
            raise RowError("its key is null, and pk.mode=record_key needs one.")
        wrap = options.pk_fields[0] if len(options.pk_fields) == 1 else None
        for rows, group in _present(keys):
            fields = self._fields(group, wrap, "key")
            found.append((rows, _chosen(fields, options.pk_fields, "key")))
        return found

    def _headers(self, batch: SinkBatch) -> list[tuple[Sequence[int], Fields]]:
        records = [{header.key: header for header in headers} for headers in batch.headers]
        names = self._options.pk_fields or tuple(records[0])
        if not names or any(name not in record for record in records for name in names):
            raise RowError("it does not have all headers that pk.mode=record_header makes its key of.")
        schemas = [tuple(record[name].schema for name in names) for record in records]
        found: list[tuple[Sequence[int], Fields]] = []
        for kind in dict.fromkeys(schemas):
            rows = [row for row, own in enumerate(schemas) if own == kind]
            fields: dict[str, FieldColumn] = {}
            for name, schema in zip(names, kind, strict=True):
                items = [records[row][name].value for row in rows]
                if schema is None:
                    fields.update(self._fields(Values(items), name, f"header {name}"))
                else:
                    fields[name] = FieldColumn(schema, items)
            found.append((rows, fields))
        return found

    def _deletions(self, rows: list[int], keys: list[tuple[Sequence[int], Fields]]) -> list[Unit]:
        options = self._options
        if not options.deletes:
            if options.debezium:
                return []  # its tombstones are for the compaction of a topic
            raise RowError(
                f"its value is null, and delete.enabled=false with pk.mode={options.pk_mode} needs one. Enable "
                "deletes, or drop such records with Filter and RecordIsTombstone."
            )
        if options.pk_mode != RECORD_KEY:
            raise RowError("its value is null, and only pk.mode=record_key tells which row to delete.")
        return [Unit(members, own, None) for members, own, _ in _paired(rows, {}, keys)]

    def _without(self, skipped: set[int], rows: Sequence[int], fields: Fields) -> tuple[Sequence[int], Fields]:
        if skipped.isdisjoint(rows):
            return rows, fields
        at = [index for index, row in enumerate(rows) if row not in skipped]
        return [rows[index] for index in at], _taken(fields, at)


def _taken(fields: Fields, at: list[int]) -> Fields:
    return {name: column.take(at) for name, column in fields.items()}


def _chosen(fields: Fields, names: Sequence[str], what: str) -> Fields:
    if not names:
        return fields
    if missing := [name for name in names if name not in fields]:
        raise RowError(f'its {what} has no field "{missing[0]}", which pk.fields names. It has {", ".join(fields)}.')
    return {name: fields[name] for name in names}


def _present(values: Values) -> list[tuple[Sequence[int], Values]]:
    """The values that are not null, by schema."""
    found: list[tuple[Sequence[int], Values]] = []
    for rows, group in values.groups():
        if group.struct_columns is not None:
            found.append((rows, group))
            continue
        there = [at for at, item in enumerate(group.to_list()) if item is not None]
        if len(there) == len(group):
            found.append((rows, group))
        elif there:
            found.append(([rows[at] for at in there], group.take(there)))
    return found


def _tombstones(values: Values) -> list[int]:
    return sorted(
        row
        for rows, group in values.groups()
        if group.struct_columns is None
        for row, item in zip(rows, group.to_list(), strict=True)
        if item is None
    )


def _paired(
    rows: Sequence[int], fields: Fields, keys: list[tuple[Sequence[int], Fields]]
) -> list[tuple[Sequence[int], Fields, Fields]]:
    """The rows that have both: these fields, and the keys of one group."""
    found: list[tuple[Sequence[int], Fields, Fields]] = []
    for members, own in keys:
        if len(rows) == len(members) and (rows == members or list(rows) == list(members)):
            return [(rows, own, fields)]
        index = {row: at for at, row in enumerate(members)} if own else {}
        both = [at for at, row in enumerate(rows) if not own or row in index]
        if both:
            chosen = [rows[at] for at in both]
            of_keys = {name: column.take([index[row] for row in chosen]) for name, column in own.items()}
            if len(both) == len(rows):
                found.append((rows, of_keys, fields))
            else:
                found.append((chosen, of_keys, {name: column.take(both) for name, column in fields.items()}))
    return found
