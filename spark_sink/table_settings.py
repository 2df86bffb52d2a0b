"""The keys of the Spark sink connector together, and what they mean.

Each group of them has a module of its own. Nothing here imports Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect import settings
from connect.data import evolution_policy
from spark_sink.hook_keys import HookOptions
from spark_sink.layout_keys import CONSOLE, GENERATED, STORAGE, TABLE_PROPERTY, LayoutOptions, check_table, is_path
from spark_sink.maintenance_keys import MaintenanceOptions
from spark_sink.merge_keys import NONE, Ends, MergeOptions
from spark_sink.others_keys import ALIASES, WITHOUT_EFFECT
from spark_sink.row_keys import METADATA, UPSERT, RowOptions
from spark_sink.running_keys import RunningOptions


class TableKeys(
    LayoutOptions,
    RowOptions,
    MergeOptions,
    evolution_policy.EvolutionOptions,
    RunningOptions,
    MaintenanceOptions,
    HookOptions,
    aliases=ALIASES,
    without_effect=WITHOUT_EFFECT,
):
    """The keys, each by itself."""

    allowed = evolution_policy.EvolutionOptions.allowed.replaced(
        default=[evolution_policy.ADD, evolution_policy.NULLABLE],
        doc="How the table may be changed so that records fit: add (new columns), widen (a type that holds more, int "
        "to bigint; it needs a newer version of Delta in every reader), nullable (NOT NULL is dropped). Several with "
        "commas; full for all, none for none.",
    )
    mismatch = evolution_policy.EvolutionOptions.mismatch.replaced(
        validator=settings.one_of("fail", "quarantine"),
        doc="What happens to a record that does not fit the table: fail (the task fails), quarantine (it becomes a row "
        "of errors.deadletter.table, the others are written).",
    )
    dead_letters = settings.String(
        "errors.deadletter.table",
        default=None,
        group="Error Handling",
        order=20,
        width="LONG",
        validator=check_table,
        doc="A Delta table, by path or name, that gets a row for each record that cannot be converted, transformed "
        "or written, with errors.tolerance=all. Created when it is missing.",
    )


_TIMESTAMP: Final = ("timestamp", METADATA["timestamp"][0])


class TableOptions(TableKeys):
    """The meaning of the keys together.

    Attributes:
        table: without a slash at its end; empty for none.
        metadata: what becomes a column (of `METADATA`) and the column's name, in order.
        properties: of a table that is created.
        sequence: the columns that say which record of a key is newer.
        key_in_value: whether the key consists of fields of the value. Of change events the key is made before that.
        generated: expressions in SQL of columns of a table that is created, by their names.
        storage: options of the table's storage, for engine=worker.
        policy: how tables may be changed.
    """

    def __init__(self, config: settings.Config) -> None:
        super().__init__(config)
        self.table = (self.written_table or "").rstrip("/")
        self.properties = config.prefixed(TABLE_PROPERTY)
        self.generated = config.prefixed(GENERATED)
        self.storage = config.prefixed(STORAGE)
        self.policy = evolution_policy.EvolutionPolicy.of(config)
        is_cdc = self.cdc_format != NONE
        self.key_in_value = not self.pk_from_key and not is_cdc
        if is_cdc and not self.sequence:
            self.sequence = (self.cdc_timestamp if self.ends else self.cdc_position,)
        elif self.ends and not self.sequence:
            if "timestamp" not in dict(self.metadata):
                self.metadata = (*self.metadata, _TIMESTAMP)
            self.sequence = (dict(self.metadata)["timestamp"],)

    @property
    def ends(self) -> Ends | None:
        """The columns for when a version was valid, if a table has a row for each version of a key."""
        if self.mode != UPSERT or self.scd_type != "2":
            return None
        return Ends(self.valid_from, self.valid_to, self.is_current)

    @property
    def deletes(self) -> bool:
        """Whether a tombstone deletes its key's row."""
        return self.mode == UPSERT and self.delete_enabled and not self.key_in_value


def checkpoint_location(config: Mapping[str, str]) -> str | None:
    """The folder of a connector's checkpoints: as written, or beside the table.

    None where it has to be configured: the table is a name, or a whole bucket. None for the console too, which stores
    nothing.
    """
    known = TableOptions.definition().named(config)
    if written := (known.get("checkpoint.location") or "").strip():
        return written
    table = (known.get("table") or "").strip().rstrip("/")
    if not is_path(table) or known.get("format") == CONSOLE:
        return None
    scheme, double_slash, rest = table.partition("://")
    root, path = (scheme + double_slash, rest) if double_slash else ("", table)
    folder, slash, _ = path.partition("${")[0].rpartition("/")
    if not slash or (root and scheme != "file" and not folder):
        return None
    return f"{root}{folder}/_checkpoints/{known.get('name', '')}"
