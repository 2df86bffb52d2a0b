"""What a connector's keys say of a table that exists: it gets the properties and the clustering that it lacks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from connect.errors import ConfigError
from spark_sink.table_properties import PROTOCOL_CHANGED, Protocol, at_fault, lacking, told
from spark_sink.tables.conflicts import is_conflict
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.table import COLUMN_MAPPING, Table, TableState
from spark_sink.tables.types import Field, fields

log = logging.getLogger(__name__)

_REFUSED: Final = ("DELTA_", "UNSUPPORTED_FEATURE")
_ELSE: Final = "Leave it out, or write to a new table."


def set_properties(table: Table, state: TableState, settings: TableSettings) -> TableState:
    """Set the properties that a table lacks, in one commit. Returns what the table is then.

    Raises:
        ConfigError: it cannot have one of them.
        Exception: whatever Spark raises where another writer was in the way.
    """
    missing = lacking(dict(settings.properties), state.properties, state.protocol)
    if not missing:
        return state
    try:
        table.set_properties(missing)
    except Exception as error:  # Spark raises anything
        if not _is_refused(error):
            raise
        key = at_fault(missing, str(error))
        key = "column.mapping" if key.endswith(COLUMN_MAPPING) else key
        why = f'cannot be set for the table "{table.name}", which exists: {_said(error)} {_ELSE}'
        raise ConfigError(key, why) from error
    log.info("Set for the table %s: %s.", table.name, told(missing, state.properties))
    return _now(table, state.protocol)


def set_clustering(table: Table, state: TableState, columns: Sequence[Field], settings: TableSettings) -> TableState:
    """Cluster a table by other columns, if it is not clustered by those of the settings.

    Args:
        columns: of the table.

    Raises:
        ConfigError: it cannot be clustered by them.
        Exception: whatever Spark raises where another writer was in the way.
    """
    wanted = settings.cluster_by
    if not wanted or [name.lower() for name in wanted] == [name.lower() for name in state.layout.clusters]:
        return state
    if state.layout.partitions:
        raise ConfigError(
            "cluster.by",
            f'is not possible for the table "{table.name}", which is partitioned by '
            f"{', '.join(state.layout.partitions)}. {_ELSE}",
        )
    if lost := next((name for name in wanted if not _has(columns, name.split("."))), None):
        there = ", ".join(column["name"] for column in columns)
        raise ConfigError("cluster.by", f'"{lost}" is not a column of the table "{table.name}", which has: {there}.')
    try:
        table.cluster(wanted)
    except Exception as error:  # Spark raises anything
        if not _is_refused(error):
            raise
        why = f'is not possible for the table "{table.name}", which exists: {_said(error)} {_ELSE}'
        raise ConfigError("cluster.by", why) from error
    log.info(
        "The table %s is clustered by %s from now on (before: %s). Rows that it has are only by OPTIMIZE %s FULL.",
        table.name,
        ", ".join(wanted),
        ", ".join(state.layout.clusters) or "nothing",
        table.sql,
    )
    return _now(table, state.protocol)


def _now(table: Table, before: Protocol) -> TableState:
    state = table.state()
    if state.protocol != before:
        log.warning(PROTOCOL_CHANGED, table.name, state.protocol, before)
    return state


def _has(columns: Sequence[Field], path: Sequence[str]) -> bool:
    found = next((column for column in columns if column["name"].lower() == path[0].lower()), None)
    return found is not None and (len(path) == 1 or _has(fields(found["type"]), path[1:]))


def _is_refused(error: Any) -> bool:
    """Whether Delta or Spark refuses the change, rather than that storage or another writer is in the way."""
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    return str(condition or "").startswith(_REFUSED) and not is_conflict(error)


def _said(error: Any) -> str:
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return line if line.endswith(".") else f"{line}."
