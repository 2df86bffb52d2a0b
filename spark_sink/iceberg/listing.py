"""The tables of a catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from connect.settings import prefixed
from spark_sink.iceberg.catalog import open_catalog, shown_address
from spark_sink.iceberg.keys import CATALOG
from spark_sink.iceberg.problems import catalog_error

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


def names(catalog: Catalog) -> Iterator[str]:
    """All tables, with their namespaces. Raises what the catalog's client raises."""
    waiting = list(catalog.list_namespaces())
    seen = set(waiting)
    while waiting:
        namespace = waiting.pop(0)
        yield from (".".join(each) for each in catalog.list_tables(namespace))
        inner = [each for each in catalog.list_namespaces(namespace) if each not in seen]
        seen.update(inner)
        waiting += inner


def tables(config: Mapping[str, str], most: int | None = None) -> list[str]:
    """The first tables of the catalog that a configuration names; all of them by default.

    Raises:
        ConfigError: there is no such kind of catalog.
        ConnectError: it cannot be read.
    """
    properties = prefixed(config, CATALOG)
    with closing(open_catalog(config.get("iceberg.catalog") or "iceberg", properties)) as catalog:
        try:
            return sorted(islice(names(catalog), most))
        except Exception as error:
            raise catalog_error(error, shown_address(properties), "could not be read") from error
