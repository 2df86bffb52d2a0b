"""What Delta makes of schemas, and which changes of a table deltalake cannot make. See `spark_sink.rows.shape`."""

from __future__ import annotations

from connect.data import widening
from connect.data.evolution import AddField, Change, MakeNullable, WidenField
from connect.data.schema import Schema
from spark_sink.table_rules import odd_name


class DeltaFormat:
    """See `spark_sink.rows.shape.Format`."""

    ignores_case = True
    widens = False
    requires = False

    def stored(self, schema: Schema) -> Schema:
        from connect.data.tables import schema_of_table, table_schema

        return schema_of_table(table_schema(schema))

    def refusal(self, change: Change, *, exists: bool) -> str | None:
        if isinstance(change, WidenField) and exists:
            name = ".".join(change.path)
            return (
                f"{name} would have to become {widening.type_name(change.schema)}, and engine=worker cannot widen "
                "columns; engine=spark can"
            )
        if isinstance(change, MakeNullable) and len(change.path) > 1:
            return (
                f"{'.'.join(change.path)} is required within a struct, and engine=worker can change whole columns only"
            )
        if isinstance(change, AddField):
            names = [change.path[-1], *_names(change.schema)]
            if (wrong := odd_name(names)) is not None:
                return (
                    f'"{wrong}" cannot be a column of a Delta table without column mapping; ReplaceField renames fields'
                )
        return None


def _names(schema: Schema) -> list[str]:
    """The names of all fields within a value."""
    inner = [each for each in (schema.key_schema, schema.value_schema) if each is not None]
    return [name for field in schema.fields for name in (field.name, *_names(field.schema))] + [
        name for each in inner for name in _names(each)
    ]
