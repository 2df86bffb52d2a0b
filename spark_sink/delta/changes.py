"""Changes of a table itself: columns and properties. They stay, whatever happens to the rows that need them.

All functions commit, raise as `Table.commit`, and take the partitions whose rows come next: this task has to own them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from connect.data.record import TopicPartition
from connect.errors import ConfigError, ConnectError, RetriableError
from spark_sink.delta.table import Table
from spark_sink.table_properties import PROTOCOL_CHANGED, at_fault, lacking, told

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)


def add_columns(table: Table, columns: pa.Schema, partitions: Iterable[TopicPartition]) -> None:
    """Add columns, and new fields to existing structs.

    Args:
        table: to be changed.
        columns: new columns, and structs with new fields.
        partitions: see above.
    """
    from deltalake import write_deltalake

    table.change(
        lambda delta, properties: write_deltalake(
            delta, columns.empty_table(), mode="append", schema_mode="merge", commit_properties=properties
        ),
        partitions,
    )
    log.info("Table %s has new columns: %s.", table.uri, ", ".join(columns.names))


def allow_null(table: Table, column: str, partitions: Iterable[TopicPartition]) -> None:
    """Make a required column nullable."""
    table.change(
        lambda delta, properties: delta.alter.drop_column_not_null(column, commit_properties=properties), partitions
    )
    log.info('Table %s: column "%s" is nullable from now on.', table.uri, column)


def set_properties(table: Table, wanted: Mapping[str, str], partitions: Iterable[TopicPartition]) -> None:
    """Set the properties that a table lacks: a commit for those of Delta, and one for others.

    Raises:
        ConfigError: deltalake cannot keep the promise of one of them.
    """
    stored, before = table.properties, table.protocol
    missing = lacking(wanted, stored, before)
    own = {name: value for name, value in missing.items() if name.startswith("delta.")}
    others = {name: value for name, value in missing.items() if name not in own}
    for properties, only_known in ((own, True), (others, False)):
        if properties:
            _set(table, properties, only_known, partitions)
            log.info("Set for the table %s: %s.", table.uri, told(properties, stored))
    if missing and (after := table.protocol) != before:
        log.warning(PROTOCOL_CHANGED, table.uri, after, before)


def _set(table: Table, properties: dict[str, str], only_known: bool, partitions: Iterable[TopicPartition]) -> None:
    try:
        table.change(
            lambda delta, commit: delta.alter.set_table_properties(
                properties, raise_if_not_exists=only_known, commit_properties=commit
            ),
            partitions,
        )
    except RetriableError:
        raise
    except ConnectError as error:
        why = f"cannot be set for a table that exists: {error} Leave it out, or set it with engine=spark."
        raise ConfigError(at_fault(properties, str(error)), why) from error
