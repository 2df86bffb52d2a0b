"""What the keys of the sink say, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connect import ConfigError
from connect.data.evolution_policy import BASIC, FULL, EvolutionPolicy
from connect.settings import Config
from connectors.jdbc.database.keys import DatabaseSettings
from connectors.jdbc.database.names import TableName
from connectors.jdbc.sink.keys import (
    COORDINATES,
    KAFKA,
    SETTINGS,
    is_debezium,
    problems,
)


@dataclass(frozen=True)
class Options:
    """What the keys say, typed. See `SETTINGS`.

    Attributes:
        included, excluded: fields, each with the topic that it is for, or None.
        policy: how tables may be changed, and what happens to records that do not fit.
        dates_in_zone: whether a Date is the day in `db.timezone`.
        folds: whether names are lower case where the database would make them so, as with Debezium's class that quotes
            no names.
        unit: of `timestamp_fields`: us or ns.
        backoff_ms: before a write is tried again.
    """

    connector: str
    database: DatabaseSettings
    mode: str
    batch_size: int
    deletes: bool
    truncates: bool
    table: str
    tables: dict[str, str]
    normalize: bool
    views: bool
    pk_mode: str
    pk_fields: tuple[str, ...]
    included: frozenset[tuple[str | None, str]]
    excluded: frozenset[tuple[str | None, str]]
    value_column: str
    defaults: bool
    dates_in_zone: bool
    timestamp_fields: frozenset[str]
    unit: str
    inference: bool
    debezium: bool
    folds: bool
    create: bool
    policy: EvolutionPolicy
    max_retries: int
    backoff_ms: int
    trimmed: bool
    exactly_once: bool
    offsets_table: TableName
    behind: bool

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Options:
        """Read a connector's, or a task's, configuration.

        Raises:
            ConfigError: it contradicts itself.
        """
        parsed = SETTINGS.parse(config)
        named = parsed.raw
        for key, why in problems(parsed):
            raise ConfigError(key, why)
        pk_mode = parsed["pk.mode"].lower()
        fields = tuple(parsed["pk.fields"])
        return cls(
            connector=config.get("name", ""),
            database=DatabaseSettings.of(parsed),
            mode=parsed["insert.mode"].lower(),
            batch_size=parsed["batch.size"],
            deletes=parsed["delete.enabled"],
            truncates=parsed["truncate.enabled"],
            table=parsed["table.name.format"],
            tables=dict(_pair(each) for each in parsed["topics.to.tables.mapping"]),
            normalize=parsed["table.name.normalize"],
            views="VIEW" in {word.upper() for word in parsed["table.types"]},
            pk_mode=pk_mode,
            pk_fields=fields or (COORDINATES if pk_mode == KAFKA else ()),
            included=_fields(parsed["fields.whitelist"]),
            excluded=_fields(parsed["fields.blacklist"]),
            value_column=parsed["string.output.value.column.name"],
            defaults=parsed["replace.null.with.default"],
            dates_in_zone=parsed["date.timezone"].lower() == "db_timezone"
            and not (is_debezium(named) and "date.timezone" not in named),
            timestamp_fields=frozenset(parsed["timestamp.fields.list"]),
            unit="ns" if parsed["timestamp.precision.mode"].lower() == "nanoseconds" else "us",
            inference=parsed["schemaless.inference"],
            debezium=is_debezium(named) if parsed["debezium.records"] is None else parsed["debezium.records"],
            folds=is_debezium(named) and "quote.sql.identifiers" not in named,
            create=parsed["auto.create"] or BASIC in map(str.lower, parsed["schema.evolution"]),
            policy=policy_of(parsed),
            max_retries=parsed["max.retries"],
            backoff_ms=parsed["retry.backoff.ms"],
            trimmed=parsed["trim.sensitive.log"],
            exactly_once=parsed["exactly.once"],
            offsets_table=TableName.parse(parsed["offsets.table"], key="offsets.table"),
            # Who halves puts from outside has to see what becomes of each.
            behind=parsed["write.behind"] and config.get("errors.put.tolerance", "none") != "all",
        )


def policy_of(parsed: Config) -> EvolutionPolicy:
    """How tables may be changed. `auto.evolve` alone allows everything, and not only what it does elsewhere.

    Raises:
        ConfigError: the keys contradict each other.
    """
    if parsed["auto.evolve"] and not parsed.raw.get("schema.evolution"):
        parsed = Config({**parsed, "schema.evolution": [FULL]}, parsed.raw)
    return EvolutionPolicy.of(parsed)


def _pair(written: str) -> tuple[str, str]:
    topic, _, table = written.rpartition(":")
    return topic.strip(), table.strip()


def _fields(written: list[str]) -> frozenset[tuple[str | None, str]]:
    pairs = (each.rpartition(":") for each in written)
    return frozenset((topic or None, field) for topic, _, field in pairs)
