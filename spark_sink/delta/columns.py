"""Columns of a row beside its value's fields: where the record was consumed, and its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from connect.data import logical
from connect.data.batch import SinkBatch
from connect.data.schema import INT32, INT64, OPTIONAL_STRING, STRING, Schema, Type
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.values import GroupedValues, Values
from connect.errors import ConfigError
from spark_sink.row_keys import UPSERT
from spark_sink.rows.shape import VALUE
from spark_sink.table_settings import TableOptions

#: The column of keys that are not structs.
KEY: Final = "key"

_NO_KEY: Final = "mode=upsert needs a key, and the record's is null."
_TIMESTAMP: Final = logical.TIMESTAMP.as_optional()


def metadata_types(options: TableOptions) -> dict[str, Schema]:
    """The types of the columns that say where a record was consumed."""
    types = {"topic": STRING, "partition": INT32, "offset": INT64, "timestamp": _TIMESTAMP}
    return {name: types[what].as_optional() for what, name in options.metadata if what in types}


class MoreColumns:
    """Adds columns to the values of batches for one table.

    Attributes:
        pk: the columns that make the key of an upsert. If they come from the record's key, they may be known only with
            the first record.
    """

    def __init__(self, options: TableOptions) -> None:
        self._options = options
        self.pk = options.pk_fields
        self._from_key = options.mode == UPSERT and not options.key_in_value

    def of(self, batch: SinkBatch) -> tuple[Values, Mapping[int, str]]:
        """The batch's values with these columns, and the rows that cannot have them.

        With deletes, a record without a value becomes a row of its key alone; otherwise it stays null.

        Raises:
            ConfigError: records have keys from which no column can be made.
        """
        if not self._options.metadata and not self._from_key:
            return batch.values, {}
        problems: dict[int, str] = {}
        own = {name: self._metadata(batch, what, name) for what, name in self._options.metadata}
        keys = self._keys(batch.keys, problems) if self._from_key else {}
        groups: list[tuple[Sequence[int], Values]] = []
        for rows, group in batch.values.groups():
            for members, part in _by_presence(rows, group):
                groups.append((members, self._extended(members, part, len(batch), own, keys, problems)))
        if len(groups) == 1:
            return groups[0][1], problems
        return GroupedValues(len(batch), groups), problems

    def _extended(
        self,
        rows: Sequence[int],
        values: Values,
        length: int,
        own: Mapping[str, FieldColumn],
        keys: Mapping[str, FieldColumn],
        problems: dict[int, str],
    ) -> Values:
        """Values that are all there, or all null."""
        added = {**keys, **own}
        if not added:
            return values  # nobody has a key
        if len(rows) < length:
            added = {name: column.take(rows) for name, column in added.items()}
        held, schema = values.struct_columns, values.schemas[0]
        if held is not None:
            _no_clash(rows, [set(own).intersection(field.name for field in held.struct.fields)] * len(rows), problems)
            columns = dict(zip((field.name for field in held.struct.fields), held.fields, strict=True))
            struct = _struct(held.struct, tuple((name, column.schema) for name, column in added.items()), len(keys))
            return StructColumns(struct, list({**keys, **columns, **added}.values()))
        items = values.to_list()
        if items[0] is None:
            if not self._options.deletes:
                return values
            return StructColumns(
                _struct(_NOTHING, tuple((n, c.schema) for n, c in added.items()), len(keys)), list(added.values())
            )
        if schema is not None and schema.type is not Type.STRUCT:
            schema, items = Schema.struct({VALUE: schema.as_optional()}), [{VALUE: item} for item in items]
        items = [item if isinstance(item, dict) else {VALUE: item} for item in items]
        _no_clash(rows, [own.keys() & item.keys() for item in items], problems)
        names = tuple(added)
        cells = zip(*(column.items for column in added.values()), strict=True)
        more = [dict(zip(names, row, strict=True)) for row in cells]
        first = dict.fromkeys(keys)  # the key's columns before the value's, the metadata's behind them
        extended = [{**first, **item, **new} for item, new in zip(items, more, strict=True)]
        if schema is not None:
            schema = _struct(schema, tuple((name, column.schema) for name, column in added.items()), len(keys))
        return Values(extended, schema)

    def _metadata(self, batch: SinkBatch, what: str, name: str) -> FieldColumn:
        match what:
            case "topic":
                return FieldColumn(STRING, batch.original_topics.to_list())
            case "partition":
                return FieldColumn(INT32, batch.original_partitions.to_list())
            case "offset":
                return FieldColumn(INT64, batch.offsets.to_list())
            case "timestamp":
                import pyarrow as pa

                milliseconds = pa.array(batch.timestamps.to_list(), pa.int64())
                return FieldColumn(_TIMESTAMP, array=milliseconds.view(pa.timestamp("ms", "UTC")))
        return FieldColumn(_key_schema(batch.keys, name), batch.keys.to_list())

    def _keys(self, keys: Values, problems: dict[int, str]) -> dict[str, FieldColumn]:
        from connect.data.tables import Unfit, schema_of

        items = keys.to_list()
        problems.update((row, _NO_KEY) for row, item in enumerate(items) if item is None)
        if len(problems) == len(items):
            return {}
        own = keys.schema if keys.schemas.constant else None
        is_struct = own.type is Type.STRUCT if own is not None else any(isinstance(item, dict) for item in items)
        if not is_struct and not self.pk:
            self.pk = (KEY,)
        wrap = None if is_struct else self.pk[0]
        try:
            schema = own if is_struct and own is not None else schema_of(keys, None, wrap=wrap)
        except Unfit as unfit:
            problems.update((each.row, f"its key: {each.reason}") for each in unfit.mismatches)
            return {}
        if is_struct and not self.pk:
            self.pk = tuple(field.name for field in schema.fields)
        columns = {}
        for name in self.pk:
            field = schema.field(name)
            if field is None:
                raise ConfigError("pk.fields", f'names "{name}", and the records\' keys have no such field.')
            cells = items if not is_struct else [None if item is None else item.get(name) for item in items]
            columns[name] = FieldColumn(field.schema.as_optional(), cells)
        return columns


_NOTHING: Final = Schema.struct({})


def _by_presence(rows: Sequence[int], group: Values) -> list[tuple[Sequence[int], Values]]:
    """The values of a group, and its nulls, separately."""
    if group.struct_columns is not None:
        return [(rows, group)]
    there = [item is not None for item in group.to_list()]
    if all(there) or not any(there):
        return [(rows, group)]
    parts: list[tuple[Sequence[int], Values]] = []
    for wanted in (True, False):
        indexes = [index for index, present in enumerate(there) if present is wanted]
        parts.append(([rows[index] for index in indexes], group.take(indexes)))
    return parts


def _no_clash(rows: Sequence[int], clashes: Sequence[set[str]], problems: dict[int, str]) -> None:
    for row, clash in zip(rows, clashes, strict=True):
        if clash:
            why = f'it has a field "{min(clash)}", which metadata.columns gives another meaning. Rename that column.'
            problems.setdefault(row, why)


@lru_cache(maxsize=100)
def _struct(schema: Schema, added: tuple[tuple[str, Schema], ...], first: int) -> Schema:
    """With further fields: the first few go before the existing ones, the rest behind."""
    new = dict(added)
    return Schema.struct({**dict(added[:first]), **{field.name: field.schema for field in schema.fields}, **new})


def _key_schema(keys: Values, name: str) -> Schema:
    from connect.data.tables import Unfit, schema_of

    if keys.schemas.constant and (own := keys.schemas[0] if len(keys) else None) is not None:
        return own.as_optional()
    is_struct = any(isinstance(key, dict) for key in keys)
    try:
        schema = schema_of(keys, None, wrap=None if is_struct else name)
    except Unfit:
        return OPTIONAL_STRING
    if is_struct:
        return schema.as_optional()
    field = schema.field(name)
    return OPTIONAL_STRING if field is None else field.schema
