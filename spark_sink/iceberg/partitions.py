"""How a new table is partitioned: the expressions of `partition-by` as a specification of Iceberg.

`country, day(at), bucket(id, 16), truncate(name, 2)`. As in Iceberg's own connector `days(at)` is `day(at)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from connect.errors import ConnectError

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema

_CALL: Final = re.compile(r"(\w{1,20})\(([^()]*)\)")
_NUMBER: Final = re.compile("0{0,3}[1-9][0-9]{0,8}")
_OF_TIME: Final = {
    "year": "year",
    "years": "year",
    "month": "month",
    "months": "month",
    "day": "day",
    "days": "day",
    "hour": "hour",
    "hours": "hour",
}
_NUMBERED: Final = {"bucket": "bucket", "truncate": "trunc"}


class Expression(NamedTuple):
    """One field of a partition.

    Attributes:
        column: that it is made of; a dot leads into a struct.
        transform: as Iceberg writes it: identity, day, bucket[16].
        name: of the field.
    """

    column: str
    transform: str
    name: str


def parse(written: str) -> Expression:
    """One expression. Raises ValueError with what is wrong and what to write."""
    call = _CALL.fullmatch(written.strip())
    if call is None:
        if "(" in written or ")" in written or not written.strip():
            raise ValueError(f'"{written}" is not an expression. Write a column, day(column), or bucket(column, 16).')
        return Expression(written.strip(), "identity", written.strip())
    function, inside = call[1].lower(), [each.strip() for each in call[2].split(",")]
    if function in _OF_TIME:
        if len(inside) != 1 or not inside[0]:
            raise ValueError(f'"{written}" needs one column: {function}(at).')
        return Expression(inside[0], _OF_TIME[function], f"{inside[0]}_{_OF_TIME[function]}")
    if function in _NUMBERED:
        if len(inside) != 2 or not inside[0] or not _NUMBER.fullmatch(inside[1]):
            raise ValueError(f'"{written}" needs a column and a number from 1: {function}(id, 16).')
        return Expression(inside[0], f"{function}[{int(inside[1])}]", f"{inside[0]}_{_NUMBERED[function]}")
    raise ValueError(f'"{function}" is not known. Write year, month, day, hour, bucket, truncate, or a column alone.')


def partition_spec(schema: Schema, written: Sequence[str], table: str) -> PartitionSpec:
    """The specification for a table that is created.

    Args:
        schema: of the table.
        written: expressions.
        table: its name, for messages.

    Raises:
        ConnectError: a column does not exist, or has a type that cannot be partitioned so.
    """
    from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
    from pyiceberg.transforms import parse_transform

    fields = []
    for number, expression in enumerate(map(parse, written)):
        transform = parse_transform(expression.transform)
        try:
            column = schema.find_field(expression.column)
        except ValueError:
            names = ", ".join(field.name for field in schema.fields)
            raise ConnectError(
                f'Table {table} is to be partitioned by "{expression.column}", and the first records have no such '
                f"field. They have {names}."
            ) from None
        if not transform.can_transform(column.field_type):
            raise ConnectError(
                f'Table {table} cannot be partitioned by {written[number]}: "{expression.column}" is of type '
                f"{column.field_type}."
            )
        fields.append(PartitionField(column.field_id, PARTITION_FIELD_ID_START + number, transform, expression.name))
    return PartitionSpec(*fields)
