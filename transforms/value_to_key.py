"""Make the key from fields of the value: ValueToKey.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.ValueToKey (KIP-66, KIP-821)
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from connect import Batch, ConfigError, DataError, Schema, Transformation, Type, Values, settings
from connect.data.struct_columns import StructColumns
from transforms.paths import SYNTAX, VERSION, column_at, parse, schema_at, values_at, written
from transforms.structs import DEFAULTS, WITH_DEFAULTS, names

if TYPE_CHECKING:
    from connect.settings import Config

B = TypeVar("B", bound=Batch[Any])


class ValueToKey(Transformation):
    """Replaces the key with a struct (without a schema: a map) of fields of the value.

    A nested field gets the last name of its path. A value that is null, or not a struct or map, is a `DataError`, and
    so is a field that the value's schema does not have; a field that a map does not have is null.
    """

    pure = True
    settings = (
        settings.define(
            settings.List(
                "fields",
                importance="HIGH",
                doc="Fields of the value that make up the key, in this order.",
                validator=names,
            )
        )
        | DEFAULTS
        | SYNTAX
    )

    def configure(self, config: Config) -> None:
        paths = dict.fromkeys(parse(name, config[VERSION], "fields") for name in config["fields"])
        self._paths = {path[-1]: path for path in paths}
        if len(self._paths) < len(paths):
            raise ConfigError("fields", "has two paths that end in the same name, which a key cannot have twice.")
        self._replace_null: bool = config[WITH_DEFAULTS]
        self._key_schema = lru_cache(maxsize=100)(self._look_up)

    def apply(self, record: Any) -> Any:
        schema = record.value_schema
        key = self._keys(schema, [record.value])[0]
        return record.replace(key=key, key_schema=None if schema is None else self._key_schema(schema))

    def apply_batch(self, batch: B) -> B:
        return batch.with_columns(keys=batch.values.each_schema(self._of_one_schema)) if len(batch) else batch

    def _of_one_schema(self, values: Values) -> Values:
        columns = values.struct_columns
        if columns is not None:
            return StructColumns(
                self._key_schema(columns.struct),
                [column_at(columns, path, replace_null=self._replace_null) for path in self._paths.values()],
            )
        schema = values.schemas[0]
        keys = self._keys(schema, values.to_list())
        return Values(keys, None if schema is None else self._key_schema(schema))

    def _keys(self, schema: Schema | None, items: list[Any]) -> list[dict[str, Any]]:
        if set(map(type, items)) != {dict} or (schema is not None and schema.type is not Type.STRUCT):
            _check(schema, items)
        if schema is not None:
            self._key_schema(schema)
        keys: list[dict[str, Any]] = []
        for name, path in self._paths.items():
            found = values_at(schema, items, path, replace_null=self._replace_null)
            if not keys:
                keys = [{name: value} for value in found]
                continue
            for key, value in zip(keys, found, strict=True):
                key[name] = value
        return keys

    def _look_up(self, schema: Schema) -> Schema:
        found = {name: schema_at(schema, path) for name, path in self._paths.items()}
        missing = [written(self._paths[name]) for name, field in found.items() if field is None]
        if missing:
            raise DataError(f"There is no field {missing[0]} for the key in {schema!r}.")
        return Schema.struct({name: field for name, field in found.items() if field is not None})


def _check(schema: Schema | None, items: list[Any]) -> None:
    for item in items:
        if not isinstance(item, dict) or (schema is not None and schema.type is not Type.STRUCT):
            what = "maps can be used without a schema" if schema is None else "structs can be used"
            found = "null" if item is None else type(item).__name__
            raise DataError(f"Only {what} to copy fields into the key, but this value is {found}.")
