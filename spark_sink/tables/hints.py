"""The types that a user says columns have: `schema.hints`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from connect.errors import ConfigError
from spark_sink.tables.types import Type


def types_of_hints(spark: Any, hints: Iterable[tuple[str, str]]) -> dict[str, Type]:
    """The types by the columns' names in lower case. Spark reads them; no job runs.

    Args:
        spark: the session.
        hints: columns and their types in SQL.

    Raises:
        ConfigError: Spark does not know a type.
    """
    from pyspark.errors import AnalysisException

    found: dict[str, Type] = {}
    for name, kind in hints:
        try:
            schema = spark.sql(f"SELECT CAST(NULL AS {kind}) AS hinted").schema
        except AnalysisException:
            raise ConfigError(
                "schema.hints", f'"{kind}", of the column "{name}", is not a type of Spark SQL.'
            ) from None
        found[name.lower()] = schema.jsonValue()["fields"][0]["type"]
    return found
