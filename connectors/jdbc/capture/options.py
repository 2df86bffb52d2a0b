"""What the keys of change capture say, typed: which tables and columns, and what their topics and fields are called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from connect import ConfigError
from connect.settings import Config
from connectors.jdbc.capture.filters import Filters, filters
from connectors.jdbc.capture.types import Modes


@dataclass(frozen=True)
class Selection:
    """Which tables and columns are captured."""

    schema_include: Filters
    schema_exclude: Filters
    table_include: Filters
    table_exclude: Filters
    column_include: Filters
    column_exclude: Filters

    def table(self, schema: str, name: str) -> bool:
        if self.schema_include and not self.schema_include.match(schema):
            return False
        if self.schema_exclude.match(schema):
            return False
        full = f"{schema}.{name}"
        if self.table_include and not self.table_include.match(full):
            return False
        return not self.table_exclude.match(full)

    def column(self, schema: str, table: str, name: str) -> bool:
        full = f"{schema}.{table}.{name}"
        if self.column_include and not self.column_include.match(full):
            return False
        return not self.column_exclude.match(full)


@dataclass(frozen=True)
class CaptureSettings:
    """What the keys say, typed. `parsed` has the ones that need no more thought."""

    parsed: Config
    prefix: str
    delimiter: str
    heartbeats: str
    slot: str
    publication: str
    selection: Selection
    snapshot_tables: Filters
    keys: list[tuple[Filters, list[str]]]
    modes: Modes
    skipped: frozenset[str]
    snapshot_mode: str
    adjusted: frozenset[str]

    @classmethod
    def of(cls, parsed: Config) -> CaptureSettings:
        """Of a configuration that SETTINGS has parsed."""
        for what in ("schema", "table", "column"):
            if parsed[f"{what}.include.list"] and parsed[f"{what}.exclude.list"]:
                raise ConfigError(f"{what}.exclude.list", f"is not possible together with {what}.include.list.")
        mode = parsed["snapshot.mode"]
        return cls(
            parsed=parsed,
            prefix=parsed["topic.prefix"],
            delimiter=parsed["topic.delimiter"],
            heartbeats=parsed["topic.heartbeat.prefix"] or parsed["heartbeat.topics.prefix"],
            slot=parsed["slot.name"],
            publication=parsed["publication.name"],
            selection=Selection(
                *(
                    filters(parsed[f"{what}.{how}.list"])
                    for what in ("schema", "table", "column")
                    for how in ("include", "exclude")
                )
            ),
            snapshot_tables=filters(parsed["snapshot.include.collection.list"]),
            keys=list(_key_columns(parsed["message.key.columns"])),
            modes=Modes(
                decimal=parsed["decimal.handling.mode"].lower(),
                time=parsed["time.precision.mode"].lower(),
                binary=parsed["binary.handling.mode"].lower(),
                hstore=parsed["hstore.handling.mode"].lower(),
                interval=parsed["interval.handling.mode"].lower(),
                money_digits=parsed["money.fraction.digits"],
                unknown=parsed["include.unknown.datatypes"],
                placeholder=parsed["unavailable.value.placeholder"],
            ),
            skipped=frozenset(parsed["skipped.operations"]) - {"none"},
            snapshot_mode={"never": "no_data"}.get(mode, mode),
            adjusted=frozenset(
                what for what in ("schema", "field") if parsed[f"{what}.name.adjustment.mode"].lower() == "avro"
            ),
        )

    def topic(self, *parts: str) -> str:
        """The name of a topic: what Kafka does not take in it becomes an underscore."""
        return re.sub(r"[^A-Za-z0-9._-]", "_", self.delimiter.join((self.prefix, *parts)))

    def schema_name(self, *parts: str) -> str:
        """The name of a schema of a table."""
        name = re.sub(r"[^A-Za-z0-9._-]", "_", ".".join((self.prefix, *parts)))
        return _adjusted(r"[^A-Za-z0-9_.]", name) if "schema" in self.adjusted else name

    def field_name(self, column: str) -> str:
        """The name of a column's field."""
        return _adjusted(r"[^A-Za-z0-9_]", column) if "field" in self.adjusted else column

    def key_columns(self, schema: str, table: str) -> list[str]:
        """The columns that message.key.columns names for a table; empty for none."""
        full = f"{schema}.{table}"
        return next((columns for tables, columns in self.keys if tables.match(full)), [])


def _adjusted(refused: str, name: str) -> str:
    """As Avro takes it: no digit comes first."""
    adjusted = re.sub(refused, "_", name)
    return f"_{adjusted}" if adjusted[:1].isdigit() else adjusted


def _key_columns(written: str) -> Any:
    for part in filter(None, map(str.strip, (written or "").split(";"))):
        tables, colon, columns = part.rpartition(":")
        names = [name.strip() for name in columns.split(",")]
        if not colon or not all(names):
            raise ConfigError("message.key.columns", f'"{part}" is not understood. Write schema.table:column,column.')
        try:
            yield filters([tables]), names
        except ValueError as error:
            raise ConfigError("message.key.columns", str(error)) from None
