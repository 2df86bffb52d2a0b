"""The changes that lead from a table's columns to others, as pyiceberg makes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from connect.data.schema import Schema, Type
from spark_sink.iceberg.types import to_iceberg

if TYPE_CHECKING:
    from pyiceberg.table.update.schema import UpdateSchema
    from pyiceberg.types import IcebergType

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a column, or of a field within one.

    Attributes:
        what: "add" a column, as an optional one; "widen" its type; make it "optional".
        path: of the column. Lists and maps have "element" and "value".
        kind: its new type; None if that stays.
    """

    what: Literal["add", "widen", "optional"]
    path: Path
    kind: IcebergType | None = None

    def make(self, update: UpdateSchema) -> None:
        """Add it to an update of a table."""
        if self.what == "optional":
            update.make_column_optional(self.path)
            return
        assert self.kind is not None
        if self.what == "add":
            update.add_column(self.path, self.kind)
        else:
            update.update_column(self.path, self.kind)

    def __str__(self) -> str:
        name = ".".join(self.path)
        if self.what == "optional":
            return f"{name} is optional from now on"
        return f"{name} is new ({self.kind})" if self.what == "add" else f"{name} has become {self.kind}"


def changes(has: Schema, wanted: Schema) -> list[Change]:
    """What makes columns of `has` those of `wanted`, which has all of them.

    Args:
        has: a STRUCT, see `spark_sink.iceberg.types.of_iceberg`.
        wanted: the same, grown by `spark_sink.rows.shape`.
    """
    return list(_of_fields(has, wanted, ()))


def _of_fields(has: Schema, wanted: Schema, path: Path) -> Iterator[Change]:
    for field in wanted.fields:
        known, here = has.field(field.name), (*path, field.name)
        if known is None:
            yield Change("add", here, _kind(field.schema))
        else:
            yield from _of_value(known.schema, field.schema, here)


def _of_value(has: Schema, wanted: Schema, path: Path) -> Iterator[Change]:
    if has == wanted:
        return
    if (has.type, has.name, has.parameters) != (wanted.type, wanted.name, wanted.parameters):
        yield Change("widen", path, _kind(wanted))
    elif has.type is Type.STRUCT:
        yield from _of_fields(has, wanted, path)
    elif has.value_schema is not None and wanted.value_schema is not None:
        inner = "element" if has.type is Type.ARRAY else "value"
        yield from _of_value(has.value_schema, wanted.value_schema, (*path, inner))
    if wanted.optional and not has.optional:
        yield Change("optional", path)


def _kind(schema: Schema) -> IcebergType:
    return to_iceberg(Schema.struct({"column": schema})).fields[0].field_type
