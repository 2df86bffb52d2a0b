"""The settings of a writer of tables: a connector's configuration as plain values, checked. Can be pickled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from connect.data.evolution_policy import EvolutionPolicy
from connect.errors import ConfigError
from spark_sink.layout_keys import DELTA, FIELD, TOPIC, is_path
from spark_sink.merge_keys import NONE, SOFT, Ends
from spark_sink.row_keys import APPEND, UPSERT
from spark_sink.sink.checks import problems
from spark_sink.table_rules import is_one_table
from spark_sink.table_settings import TableOptions

_SCHEME: Final = re.compile(r"[a-zA-Z][\w+.-]*:")


@dataclass(frozen=True, slots=True)
class TableSettings:
    """How tables are written.

    Attributes:
        format: "delta", "parquet", "iceberg", "json" or "console".
        table: a path, or a name in a catalog; may contain ${topic} and ${field}.
        table_field: the path of the field for ${field}; empty for none.
        create: whether a missing table is created.
        partition_by, cluster_by, properties: of a new table; properties with their values.
        generated: columns of a new table, with the expressions in SQL of which Delta makes them.
        mode: "append", "upsert" or "overwrite".
        key_in_value: whether the key consists of fields of the value.
        key_fields: the columns of the key; empty for all of a record's key.
        deletes: whether tombstones delete; otherwise they are left out.
        sequence: for "upsert": the columns that say which record of a key is newer; empty for the order in Kafka.
        merge_condition: for "upsert": a further condition of the merge; None for none.
        replace_where: for "overwrite": a condition; None for the partitions of the records.
        delete_column: that says that a row is deleted, where deleted rows stay; None where they do not.
        delete_time: whether it holds the time of the deletion.
        ends: the columns for when a version was valid, where tables have a row for each; None where they have not.
        events: whether records are change events: see `spark_sink.cdc`.
        hints: columns with the types in SQL that they have whatever records have.
        rescued: the column for what does not fit a table; None for none.
        metadata: what becomes a column beside the value's fields (a key of `METADATA`), and the column's name.
        policy: how tables may be changed.
        dead_letters: the table of records that cannot be written; None for none.
        compaction_s, vacuum_s: the intervals, in seconds; 0 never.
        zorder: the columns by which rows are put near each other when files are joined; empty for none.
        optimized: the condition of the partitions whose files are joined; None for all.
        vacuum_hours: how long files are kept.
        hook: the function that gets batches in place of the table, module:function; None for none.
        console_rows: that are printed of a batch.
    """

    format: str = DELTA
    table: str = ""
    table_field: tuple[str, ...] = ()
    create: bool = True
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    generated: tuple[tuple[str, str], ...] = ()
    mode: str = APPEND
    key_in_value: bool = False
    key_fields: tuple[str, ...] = ()
    deletes: bool = False
    sequence: tuple[str, ...] = ()
    merge_condition: str | None = None
    replace_where: str | None = None
    delete_column: str | None = None
    delete_time: bool = False
    ends: Ends | None = None
    events: bool = False
    hints: tuple[tuple[str, str], ...] = ()
    rescued: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    policy: EvolutionPolicy = field(default_factory=EvolutionPolicy)
    dead_letters: str | None = None
    compaction_s: float = 0.0
    vacuum_s: float = 0.0
    zorder: tuple[str, ...] = ()
    optimized: str | None = None
    vacuum_hours: int = 168
    hook: str | None = None
    console_rows: int = 20

    @classmethod
    def of(cls, config: Mapping[str, str]) -> TableSettings:
        """Of a connector's configuration, other projects' names for its keys included.

        Raises:
            ConfigError: a value is wrong, or two contradict each other.
        """
        options = TableOptions.parse(config)
        for key, message in problems(options, "spark"):
            raise ConfigError(key, message)
        properties = options.properties
        if options.column_mapping != "none":
            properties.setdefault("delta.columnMapping.mode", options.column_mapping)
        if options.vacuum_s:
            properties.setdefault("delta.deletedFileRetentionDuration", retention(options.retention_hours))
        key_in_value = options.key_in_value
        return cls(
            format=options.format,
            table=_absolute(options.written_table or ""),
            table_field=tuple(options.table_field.split(".")) if options.table_field else (),
            create=options.auto_create,
            partition_by=options.partition_by,
            cluster_by=tuple(options.cluster_by),
            properties=tuple(sorted(properties.items())),
            generated=tuple(options.generated.items()),
            mode=options.mode,
            key_in_value=key_in_value,
            key_fields=options.pk_fields,
            deletes=options.deletes and FIELD not in options.table,
            sequence=options.sequence,
            merge_condition=options.merge_condition,
            replace_where=options.replace_where,
            delete_column=options.delete_column if options.deletes and options.delete_mode == SOFT else None,
            delete_time=options.delete_column_type == "timestamp",
            ends=options.ends,
            events=options.cdc_format != NONE,
            hints=options.hints,
            rescued=options.rescued,
            metadata=options.metadata,
            policy=options.policy,
            dead_letters=_absolute(options.dead_letters) if options.dead_letters else None,
            compaction_s=options.compaction_s,
            vacuum_s=options.vacuum_s,
            zorder=options.zorder,
            optimized=options.optimized,
            vacuum_hours=options.retention_hours,
            hook=options.hook,
            console_rows=options.console_rows,
        )

    @property
    def wants_keys(self) -> bool:
        """Whether rows need `_key`."""
        upserts_by_it = self.mode == UPSERT and not self.key_in_value
        return upserts_by_it or any(what == "key" for what, _ in self.metadata)

    @property
    def wrap_key(self) -> str:
        """The name of the single column of a key that is not a struct."""
        return self.key_fields[0] if len(self.key_fields) == 1 else "key"

    @property
    def wants_metadata(self) -> bool:
        """Whether rows need `_topic`, `_partition`, `_offset`, `_timestamp` and `_origin`."""
        needed = self.metadata or self.dead_letters or self.hook
        return self.mode == UPSERT or bool(needed) or TOPIC in self.table

    @property
    def wants_failures(self) -> bool:
        """Whether records that the error policy gives up are needed as rows."""
        return self.dead_letters is not None

    @property
    def is_one_table(self) -> bool:
        """Whether all records go to one table."""
        return is_one_table(self.table)


def retention(hours: int) -> str:
    """This number of hours in the form of Delta's table properties."""
    return f"interval {hours} hours"


def _absolute(table: str) -> str:
    """SQL accepts only absolute paths."""
    if not is_path(table) or _SCHEME.match(table):
        return table
    return str(Path(table).absolute())
