"""Whether values fit a column that is there."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy
from sqlalchemy.dialects import mysql

from connectors.jdbc.database.types_to_sql import Meaning
from connectors.jdbc.sink.fitting import misfit

UNSIGNED = {"unsigned": True}


def column(name: str, **more: Any) -> Any:
    made: Any = getattr(mysql, name)
    return made(**more)


@pytest.mark.parametrize(
    ("of", "values", "fits"),
    [
        (column("INTEGER"), [2**31 - 1, -(2**31), None], True),
        (column("INTEGER"), [2**31], False),
        (column("INTEGER", **UNSIGNED), [0, 2**32 - 1], True),
        (column("INTEGER", **UNSIGNED), [2**32], False),
        (column("INTEGER", **UNSIGNED), [-1], False),
        (column("TINYINT", **UNSIGNED), [255], True),
        (column("TINYINT", **UNSIGNED), [256], False),
        (column("MEDIUMINT", **UNSIGNED), [2**24 - 1], True),
    ],
)
@pytest.mark.parametrize("kind", ["int64", "float64", "decimal"])
def test_numbers_fit_whole_ones_of_so_many_bits(of: Any, values: list[int | None], fits: bool, kind: str) -> None:
    types = {"int64": pa.int64(), "float64": pa.float64(), "decimal": pa.decimal128(38, 0)}
    array = pa.array([None if value is None else Decimal(value) for value in values], types["decimal"])
    assert (misfit(Meaning(kind), of, array.cast(types[kind]), "mysql") is None) is fits


@pytest.mark.parametrize(
    "value", [Decimal("0.5"), Decimal("5.00"), Decimal(2**63), 0.5, float("inf"), float("nan"), 1e19]
)
def test_what_is_not_whole_or_too_much_fits_none(value: Any) -> None:
    kind = "decimal" if isinstance(value, Decimal) else "float64"
    assert misfit(Meaning(kind), sqlalchemy.BigInteger(), pa.array([value]), "mysql")
