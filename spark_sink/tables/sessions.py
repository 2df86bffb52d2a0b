"""Sessions beside that of a query: with its settings, for statements whose own settings nobody else may see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def clone(spark: Any) -> Any:
    """A session that starts with the settings of another. Over Spark Connect it has a connection: see `cloned`."""
    if _is_remote(spark):
        return spark.cloneSession()
    return type(spark)(spark._sc, spark._jsparkSession.cloneSession())  # PySpark itself has only empty ones


@contextlib.contextmanager
def cloned(spark: Any) -> Iterator[Any]:
    """The same, for the time of the context."""
    own = clone(spark)
    try:
        yield own
    finally:
        if _is_remote(spark):
            own.client.release_session()
            own.client.close()


@contextlib.contextmanager
def own_session(spark: Any) -> Iterator[Any]:
    """A query's session, which it has to itself in Spark itself; over Spark Connect a clone, as others have it too."""
    if not _is_remote(spark):
        yield spark
        return
    with cloned(spark) as own:
        yield own


def _is_remote(spark: Any) -> bool:
    return hasattr(type(spark), "cloneSession")
