"""Whether the values of a field fit an existing column: its kind of values, their size, nulls."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeEngine

from connectors.jdbc.database.types_to_sql import Meaning, is_too_narrow, whole_bits

#: What kinds of values fields have, as far as columns of another kind certainly do not have them.
_KINDS: Final = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "float32", "float64", "decimal"), "numbers"),
    **dict.fromkeys(("date", "time", "timestamp", "datetime"), "dates and times"),
    "string": "text",
    "bytes": "bytes",
    "boolean": "booleans",
}


def misfit(meaning: Meaning, column: TypeEngine[Any], array: pa.Array, dialect: str) -> str | None:
    """Why some of these values, apart from nulls, do not fit a column of this type; None if all do.

    Cases that are unknown here are left to the database.
    """
    if len(array) == array.null_count:
        return None
    of_field, of_column = _KINDS.get(meaning.kind), _kind_of(column, dialect)
    if of_field and of_column and of_field != of_column:
        return f"is {meaning.kind}, and its column {column} holds {of_column}"
    if is_too_narrow(meaning, column, dialect) and exceeds(column, meaning, array):
        return f"holds a value that its column {column} has no place for"
    return None


def _kind_of(column: TypeEngine[Any], dialect: str) -> str | None:
    if dialect == "sqlite" or isinstance(column, sqlalchemy.Enum):
        return None  # takes anything; takes some texts
    if isinstance(column, sqlalchemy.Boolean | mysql.TINYINT):
        return None if dialect == "mysql" else "booleans"  # MySQL's booleans are small numbers
    if isinstance(column, sqlalchemy.Integer | sqlalchemy.Numeric):
        return "numbers"
    if isinstance(column, sqlalchemy.Date | sqlalchemy.DateTime | sqlalchemy.Time):
        return "dates and times"
    if isinstance(column, sqlalchemy.String):
        return "text"
    return "bytes" if isinstance(column, sqlalchemy.LargeBinary) else None


def exceeds(column: TypeEngine[Any], meaning: Meaning, array: pa.Array) -> bool:
    """Whether some value is more than a column holds."""
    bits = whole_bits(column)
    if bits is not None:
        return not _is_within(array, bits, unsigned=bool(getattr(column, "unsigned", False)))
    if isinstance(column, sqlalchemy.String):
        length = column.length
        return length is not None and pc.max(pc.utf8_length(array)).as_py() > length
    if meaning.kind == "float64":
        there = array.drop_null()
        same = pc.or_(pc.equal(there.cast(pa.float32(), safe=False).cast(pa.float64()), there), pc.is_nan(there))
        return not pc.all(same).as_py()
    precision, scale = getattr(column, "precision", None), getattr(column, "scale", None) or 0
    if precision is None:
        return False
    if precision > 38 or not pa.types.is_decimal(array.type):
        return not pa.types.is_decimal(array.type)
    try:
        array.cast(pa.decimal128(precision, scale))
    except pa.ArrowInvalid:
        return True
    return False


def _is_within(array: pa.Array, bits: int, *, unsigned: bool) -> bool:
    """Whether all are whole numbers of so many bits."""
    there = array.drop_null()
    if pa.types.is_decimal(array.type):
        if array.type.scale != 0:  # 5.00 is no text of a whole number
            return False
        try:
            there = there.cast(pa.int64())
        except pa.ArrowInvalid:  # more than 64 bits
            return False
    elif pa.types.is_floating(array.type):
        if not pc.all(pc.equal(pc.floor(there), there)).as_py():
            return False
    elif not pa.types.is_integer(array.type):
        return False
    ends = pc.min_max(there).as_py()
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return bool(low <= ends["min"] and ends["max"] <= high)
