"""The keys of the change capture source: Debezium's names and defaults."""

from __future__ import annotations

import re
from typing import Final

from connect import settings
from connect.settings import Config, Listed, WithoutEffect
from connectors.jdbc.capture.types import Modes
from connectors.jdbc.changes import without_effect
from connectors.jdbc.changes.keys import DATABASE, EVENTS, RUN, CaptureKeys, names, no_transactions
from connectors.jdbc.changes.without_effect import NO_PARTS, WAITS

_SLOT: Final = "Slot and publication"


def _identifier(name: str, value: str) -> None:
    if not re.fullmatch(r"[a-z0-9_]{1,63}", value):
        raise ValueError(f'"{value}" is not the name of a slot: lower case letters, digits and _ only, 63 at most.')


def _only_pgoutput(name: str, value: str) -> None:
    if value != "pgoutput":
        raise ValueError(
            f'"{value}" is not supported. Write pgoutput, which every PostgreSQL since version 10 has, and name a '
            "slot of its own (slot.name): a slot keeps the plug-in that it was made with."
        )


#: Debezium's keys that nothing here follows, and why.
WITHOUT_EFFECT: Final[dict[str, str | WithoutEffect]] = {
    **without_effect.WITHOUT_EFFECT,
    "xmin.fetch.interval.ms": WithoutEffect("a slot's xmin is not told", unless=("0",)),
    "snapshot.locking.mode*": WithoutEffect("a snapshot locks nothing", unless=("none",)),
    "snapshot.isolation.mode": WithoutEffect(NO_PARTS, unless=("repeatable_read", "serializable")),
    "snapshot.lock.timeout.ms": "a snapshot locks nothing",
    "message.prefix.*": "messages of pg_logical_emit_message are not captured",
    "logical_decoding_message.*": "messages of pg_logical_emit_message are not captured",
    "replica.identity.autoset.values": "tables are left as they are. ALTER TABLE ... REPLICA IDENTITY does that",
    "slot.stream.params": "the stream is read as Debezium reads it by itself",
    "slot.seek.to.known.offset.on.start": "the stream always begins where the stored offset says",
    "slot.max.retries": WAITS,
    "slot.retry.delay.ms": WAITS,
    "create.slot.command.timeout": "a slot is waited for as long as it takes to make it",
    "lsn.flush.*": "the server is told what is stored, in the connector's own time",
    "flush.lsn.source": WithoutEffect("the server is told what is stored", unless=("true",)),
    "offset.mismatch.strategy": "the stream always begins where the stored offset says",
    "schema.refresh.mode": "columns are known from the stream",
    "database.tcpKeepAlive": WithoutEffect("connections are always kept alive", unless=("true",)),
    "database.sslfactory": "libpq speaks TLS. database.sslmode and the keys beside it say how",
    "include.schema.changes": WithoutEffect("a change of a table's columns is not an event", unless=("false",)),
    "advanced.metrics.enable": "metrics are those that `connect docs postgres-cdc` tells",
}


class ServerKeys(settings.Options):
    """The keys of the database, its slot and its publication."""

    database_hostname = settings.String(
        "database.hostname",
        default=None,
        importance="HIGH",
        group=DATABASE,
        doc="The host of the database. Or give connection.url.",
    )
    database_port = settings.Int("database.port", default=5432, importance="HIGH", group=DATABASE, doc="Its port.")
    database_user = settings.String(
        "database.user",
        default=None,
        importance="HIGH",
        group=DATABASE,
        doc="The user name. The role needs REPLICATION, and SELECT on the tables of a snapshot.",
    )
    database_password = settings.Password(
        "database.password",
        default=None,
        importance="HIGH",
        group=DATABASE,
        doc="The password. The task asks a config provider again whenever it starts, also after a failure.",
    )
    database_dbname = settings.String(
        "database.dbname", default=None, importance="HIGH", group=DATABASE, doc="The database that is captured."
    )
    connection_url = settings.String(
        "connection.url",
        default=None,
        importance="HIGH",
        group=DATABASE,
        width="LONG",
        doc="Instead of the keys above: jdbc:postgresql://host:5432/database, or postgresql://host:5432/database.",
    )
    database_sslmode = settings.String(
        "database.sslmode",
        default=None,
        importance="MEDIUM",
        group=DATABASE,
        doc="How to use TLS, as libpq says it: disable, allow, prefer, require, verify-ca or verify-full.",
    )
    database_sslrootcert = settings.String(
        "database.sslrootcert", default=None, group=DATABASE, doc="File with the authorities to trust."
    )
    database_sslcert = settings.String(
        "database.sslcert", default=None, group=DATABASE, doc="File with the client's certificate."
    )
    database_sslkey = settings.String("database.sslkey", default=None, group=DATABASE, doc="File with its key.")
    database_sslpassword = settings.Password(
        "database.sslpassword", default=None, group=DATABASE, doc="The password of that file."
    )
    slot = settings.String(
        "slot.name",
        default="debezium",
        importance="MEDIUM",
        group=_SLOT,
        validator=_identifier,
        doc="The replication slot. The source makes a missing one if nothing was captured so far; each connector "
        "needs its own.",
    )
    slot_drop_on_stop = settings.Boolean(
        "slot.drop.on.stop",
        default=False,
        group=_SLOT,
        doc="Whether to drop the slot whenever the task stops: changes from then on are lost. For tests.",
    )
    slot_failover = settings.Boolean(
        "slot.failover",
        default=False,
        importance="LOW",
        group=_SLOT,
        doc="Whether a new slot is synchronized to standbys (PostgreSQL 17 and newer).",
    )
    publication = settings.String(
        "publication.name",
        default="dbz_publication",
        group=_SLOT,
        listed=Listed.BY_CONNECTOR,
        doc="The publication. One that is filtered is for one connector.",
    )
    publication_autocreate_mode = settings.String(
        "publication.autocreate.mode",
        default="all_tables",
        group=_SLOT,
        validator=settings.one_of("all_tables", "disabled", "filtered", "no_tables"),
        doc="What to do about a missing publication: all_tables and no_tables make one, filtered makes one of the "
        "captured tables and brings it up to date whenever the task connects, disabled is an error.",
    )
    publish_via_partition_root = settings.Boolean(
        "publish.via.partition.root",
        default=False,
        importance="LOW",
        group=_SLOT,
        doc="Whether changes of partitions come as changes of their table. For publications that are made here.",
    )
    plugin_name = settings.String(
        "plugin.name", default="pgoutput", group=_SLOT, validator=_only_pgoutput, doc="Only pgoutput."
    )
    schema_include = names("schema.include.list", "schemas", "capture")
    schema_exclude = names("schema.exclude.list", "schemas", "leave out")


class CaptureOptions(ServerKeys, CaptureKeys, without_effect=WITHOUT_EFFECT):
    """The keys, and what they mean together.

    Attributes:
        modes: how values are written.
    """

    snapshot_mode = settings.String(
        "snapshot.mode",
        default="initial",
        group=RUN,
        validator=settings.one_of("initial", "initial_only", "no_data", "never", "always", "when_needed"),
        convert=lambda mode: "no_data" if mode == "never" else mode,
        doc="What is read before the stream: initial: all rows, once. initial_only: the same, and no stream. no_data "
        "or never: nothing. always: all rows at every start. when_needed: all rows, again if the slot is missing.",
    )
    status_update_interval = settings.Int(
        "status.update.interval.ms",
        default=10_000,
        group=RUN,
        validator=settings.at_least(100),
        convert=settings.seconds,
        doc="The longest time between two acknowledgements to the server.",
    )
    decimal_handling_mode = CaptureKeys.decimal_handling_mode.replaced(
        doc="How numeric and money are written: precise: Connect's Decimal, or a scale with each value where a column "
        "has none. double. string."
    )
    time_precision_mode = settings.String(
        "time.precision.mode",
        default="adaptive",
        group=EVENTS,
        validator=settings.one_of("adaptive", "adaptive_time_microseconds", "connect", ignore_case=True),
        convert=str.lower,
        doc="How dates and times are written: adaptive: milliseconds or microseconds as the column has it. "
        "adaptive_time_microseconds: the same, times always in microseconds. connect: Connect's types, in "
        "milliseconds.",
    )
    binary_handling_mode = CaptureKeys.binary_handling_mode.replaced(doc="How bytea is written.")
    hstore_handling_mode = settings.String(
        "hstore.handling.mode",
        default="json",
        group=EVENTS,
        validator=settings.one_of("json", "map", ignore_case=True),
        convert=str.lower,
        doc="How hstore is written.",
    )
    interval_handling_mode = settings.String(
        "interval.handling.mode",
        default="numeric",
        group=EVENTS,
        validator=settings.one_of("numeric", "string", ignore_case=True),
        convert=str.lower,
        doc="How intervals are written: microseconds, a month having 30.4375 days; or as in P1Y2M3DT4H5M6.789S.",
    )
    money_fraction_digits = settings.Short(
        "money.fraction.digits", default=2, group=EVENTS, doc="Digits after the point of money."
    )
    include_unknown_datatypes = settings.Boolean(
        "include.unknown.datatypes",
        default=False,
        group=EVENTS,
        doc="Whether columns of other types are included, as the bytes of their text.",
    )
    unavailable_value_placeholder = settings.String(
        "unavailable.value.placeholder",
        default="__debezium_unavailable_value",
        group=EVENTS,
        doc="The placeholder for a large value that an update did not change; PostgreSQL does not send it.",
    )
    provide_transaction_metadata = no_transactions("source.txId and source.sequence")

    def __init__(self, config: Config) -> None:
        """Check parsed values.

        Raises:
            ConfigError: they contradict each other.
        """
        super().__init__(config)
        self.choose("schema", self.schema_include, self.schema_exclude)
        self.modes = Modes(
            decimal=self.decimal_handling_mode,
            time=self.time_precision_mode,
            binary=self.binary_handling_mode,
            hstore=self.hstore_handling_mode,
            interval=self.interval_handling_mode,
            money_digits=self.money_fraction_digits,
            unknown=self.include_unknown_datatypes,
            placeholder=self.unavailable_value_placeholder,
        )
