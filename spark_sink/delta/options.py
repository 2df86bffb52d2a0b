"""What a task that writes Delta itself reads of a Spark sink's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from connect.data.evolution_policy import EvolutionPolicy
from spark_sink import table_settings as keys
from spark_sink.table_rules import is_one_table


@dataclass(frozen=True, slots=True)
class Options:
    """The keys of `spark_sink.table_settings` as values, see there.

    Attributes:
        metadata: what becomes a column (`settings.METADATA`) and the column's name.
        pk_from_key: whether an upsert's key is the record's key, rather than fields of its value.
        properties: of a table that is created.
        storage: handed to the table's storage.
    """

    table: str
    table_field: str | None
    auto_create: bool
    partition_by: tuple[str, ...]
    mode: str
    pk_from_key: bool
    pk_fields: tuple[str, ...]
    delete_enabled: bool
    replace_where: str | None
    metadata: tuple[tuple[str, str], ...]
    policy: EvolutionPolicy
    interval_s: float
    flush_records: int
    flush_bytes: int
    compaction_s: float
    vacuum_s: float
    retention_hours: int
    properties: Mapping[str, str]
    storage: Mapping[str, str]

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """Read a configuration, other projects' names for our keys included.

        Raises:
            ConfigError: a value is wrong by itself.
        """
        parsed = keys.SETTINGS.parse(config)
        return cls(
            table=parsed["table"].rstrip("/"),
            table_field=parsed["table.field"] or None,
            auto_create=parsed["auto.create"],
            partition_by=tuple(parsed["partition.by"]),
            mode=parsed["mode"],
            pk_from_key=parsed["pk.mode"] == "record_key",
            pk_fields=tuple(parsed["pk.fields"]),
            delete_enabled=parsed["delete.enabled"],
            replace_where=parsed["replace.where"] or None,
            metadata=keys.metadata_columns(parsed),
            policy=EvolutionPolicy.of(parsed),
            interval_s=parsed["trigger.interval.ms"] / 1000,
            flush_records=parsed["flush.size"],
            flush_bytes=parsed["flush.bytes"],
            compaction_s=parsed["compaction.interval.ms"] / 1000,
            vacuum_s=parsed["vacuum.interval.ms"] / 1000,
            retention_hours=parsed["vacuum.retention.hours"],
            properties={k.removeprefix(keys.TABLE_PROPERTY): v for k, v in _prefixed(parsed.raw, keys.TABLE_PROPERTY)},
            storage=keys.storage_options(parsed.raw),
        )

    @property
    def is_one_table(self) -> bool:
        """Whether all records go to the same table, whatever they are."""
        return is_one_table(self.table)

    @property
    def deletes(self) -> bool:
        """Whether a tombstone deletes its key's row."""
        return self.mode == keys.UPSERT and self.delete_enabled and self.pk_from_key


def _prefixed(config: Mapping[str, str], prefix: str) -> list[tuple[str, str]]:
    return [(key, value) for key, value in config.items() if key.startswith(prefix)]
