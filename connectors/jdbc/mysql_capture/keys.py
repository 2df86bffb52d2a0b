"""The keys of the change capture of MySQL and MariaDB: Debezium's names and defaults."""

from __future__ import annotations

from typing import Final

from connect import settings
from connect.settings import Config, WithoutEffect
from connectors.jdbc.changes import without_effect
from connectors.jdbc.changes.keys import DATABASE, EVENTS, RUN, CaptureKeys, names, no_transactions
from connectors.jdbc.changes.without_effect import NO_PARTS
from connectors.jdbc.mysql_capture.types import Modes

_TLS: Final = "TLS"
_STORES: Final = (
    "Java's key stores are not read. database.ssl.ca, database.ssl.cert and database.ssl.key name files in PEM"
)


def _no_query(name: str, value: bool) -> None:
    if value:
        raise ValueError("the statements behind changes are not captured.")


_NO_DATA: Final = ("no_data", "schema_only", "never", "recovery", "schema_only_recovery")
_SSL_MODES: Final = {
    **dict.fromkeys(("disabled", "disable"), "disabled"),
    **dict.fromkeys(("preferred", "prefer"), "preferred"),
    **dict.fromkeys(("required", "require"), "required"),
    **dict.fromkeys(("verify_ca", "verify-ca"), "verify_ca"),
    **dict.fromkeys(("verify_identity", "verify-full"), "verify_identity"),
}
_NO_HISTORY: Final = (
    "no history of schemas is stored: columns are known from the log (binlog_row_metadata=FULL), or from the catalog "
    "and the statements that change it"
)

#: Debezium's keys that nothing here follows, and why.
WITHOUT_EFFECT: Final[dict[str, str | WithoutEffect]] = {
    **without_effect.WITHOUT_EFFECT,
    "schema.history.internal*": _NO_HISTORY,
    "database.history*": _NO_HISTORY,
    "include.schema.changes": WithoutEffect("statements that change tables are not events", unless=("false",)),
    "database.ssl.keystore*": _STORES,
    "database.ssl.truststore*": _STORES,
    "database.jdbc.driver": "there is one driver, PyMySQL",
    "database.protocol": "there is one driver, PyMySQL",
    "driver.*": "there is one driver, PyMySQL",
    "database.query.timeout.ms": "a statement is waited for as long as it takes",
    "connect.keep.alive*": WithoutEffect(
        "the server says that it is there, and a silent one is left", unless=("true",)
    ),
    "min.row.count.to.stream.results": "rows of a snapshot are always streamed",
    "gtid.source.*": "the log is followed whole: no server of origin is left out",
    "gtid.new.channel.position": "the stream always begins where the stored offset says",
    "use.nongraceful.disconnect": "a connection is ended at once",
    "binlog.buffer.size": "transactions are not held back until they end",
    "source.struct.version": WithoutEffect("the source block has Debezium's present form", unless=("v2",)),
    "snapshot.new.tables": WithoutEffect("tables that are chosen later are captured from then on", unless=("off",)),
    "snapshot.isolation.mode": WithoutEffect(NO_PARTS, unless=("repeatable_read",)),
    "snapshot.lock.timeout.ms": "a lock is waited for 10 s, and then asked for again",
    "snapshot.locking.mode.custom.name": "snapshot.locking.mode has the ways there are",
    "event.deserialization.failure.handling.mode": WithoutEffect("the task fails", unless=("fail",)),
    "inconsistent.schema.handling.mode": WithoutEffect("the task fails", unless=("fail",)),
    "unavailable.value.placeholder": "the log has all values of a row",
    "advanced.metrics.enable": "metrics are those that `connect docs mysql-cdc` tells",
}


class ServerKeys(settings.Options):
    """The keys of the server and its databases."""

    database_hostname = settings.String(
        "database.hostname", importance="HIGH", group=DATABASE, doc="The host of the server."
    )
    database_port = settings.Int("database.port", default=3306, importance="HIGH", group=DATABASE, doc="Its port.")
    database_user = settings.String(
        "database.user",
        importance="HIGH",
        group=DATABASE,
        doc="The user name. It needs REPLICATION SLAVE, REPLICATION CLIENT, SELECT, and RELOAD or LOCK TABLES for a "
        "snapshot.",
    )
    database_password = settings.Password(
        "database.password",
        default=None,
        importance="HIGH",
        group=DATABASE,
        doc="The password. The task asks a config provider again whenever it starts, also after a failure.",
    )
    server_id = settings.Long(
        "database.server.id",
        importance="HIGH",
        group=DATABASE,
        validator=settings.between(1, 4294967295),
        doc="The number of this connector among all servers and replicas of the group. The server ends the older of "
        "two that have the same.",
    )
    ssl_mode = settings.String(
        "database.ssl.mode",
        default="preferred",
        group=_TLS,
        validator=settings.one_of(
            "disabled",
            "disable",
            "preferred",
            "prefer",
            "required",
            "require",
            "verify_ca",
            "verify-ca",
            "verify_identity",
            "verify-full",
            ignore_case=True,
        ),
        convert=lambda mode: _SSL_MODES[mode.lower()],
        doc="How to use TLS: disabled, preferred (where the server has it), required, verify_ca, verify_identity.",
    )
    ssl_ca = settings.String(
        "database.ssl.ca", default=None, group=_TLS, doc="File in PEM with the authorities to trust."
    )
    ssl_cert = settings.String(
        "database.ssl.cert", default=None, group=_TLS, doc="File in PEM with the client's certificate."
    )
    ssl_key = settings.String("database.ssl.key", default=None, group=_TLS, doc="File in PEM with its key.")
    ssl_key_password = settings.Password(
        "database.ssl.key.password", default=None, group=_TLS, doc="The password of that file."
    )
    connect_timeout = settings.Int(
        "connect.timeout.ms",
        default=30_000,
        group=DATABASE,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="How long to wait for a connection.",
    )
    database_include = names("database.include.list", "databases", "capture")
    database_exclude = names("database.exclude.list", "databases", "leave out")


class CaptureOptions(
    ServerKeys,
    CaptureKeys,
    aliases={"database.include": "database.include.list", "database.exclude": "database.exclude.list"},
    without_effect=WITHOUT_EFFECT,
):
    """The keys, and what they mean together.

    Attributes:
        modes: how values are written.
    """

    table_include = names("table.include.list", "tables (database.table)", "capture")
    table_exclude = names("table.exclude.list", "tables (database.table)", "leave out")
    column_include = names("column.include.list", "columns (database.table.column)", "capture")
    column_exclude = names("column.exclude.list", "columns (database.table.column)", "leave out")
    keys = CaptureKeys.keys.replaced(
        doc="Columns that make a table's key instead of its primary key: database.table:a,b;database.other:c. The "
        "tables are regular expressions."
    )
    snapshot_mode = settings.String(
        "snapshot.mode",
        default="initial",
        group=RUN,
        validator=settings.one_of(
            "initial",
            "initial_only",
            "no_data",
            "schema_only",
            "never",
            "always",
            "when_needed",
            "recovery",
            "schema_only_recovery",
        ),
        convert=lambda mode: "no_data" if mode in _NO_DATA else mode,
        doc="What is read before the stream: initial: all rows, once. initial_only: the same, and no stream. no_data, "
        "never or recovery: nothing. always: all rows at every start. when_needed: all rows, again if the server has "
        "no more of the log where the stream would continue.",
    )
    snapshot_locking = settings.String(
        "snapshot.locking.mode",
        default="minimal",
        group=RUN,
        validator=settings.one_of("minimal", "minimal_percona", "extended", "none"),
        doc="How a snapshot and its place in the log are made one: minimal: nobody writes while the snapshot begins "
        "(FLUSH TABLES WITH READ LOCK; where the user may not do that, LOCK TABLES of the captured ones). extended: "
        "the same; what is read stays as it was then. none: by the server's own consistent snapshot, which only "
        "MariaDB and Percona Server have. Tables without transactions may change while they are read.",
    )
    snapshot_tables = CaptureKeys.snapshot_tables.replaced(
        doc="Which of the captured tables a snapshot reads: regular expressions of database.table. Default: all."
    )
    signal_table = CaptureKeys.signal_table.replaced(
        doc="The table (database.table) into whose columns id, type and data signals are inserted: to read tables "
        "again while the stream goes on, to stop or pause that."
    )
    bigint_unsigned_handling_mode = settings.String(
        "bigint.unsigned.handling.mode",
        default="long",
        group=EVENTS,
        validator=settings.one_of("long", "precise", ignore_case=True),
        convert=str.lower,
        doc="How BIGINT UNSIGNED is written: long: eight bytes with a sign, so that numbers from 2^63 on are negative. "
        "precise: Connect's Decimal.",
    )
    time_precision_mode = settings.String(
        "time.precision.mode",
        default="adaptive_time_microseconds",
        group=EVENTS,
        validator=settings.one_of("adaptive_time_microseconds", "connect", ignore_case=True),
        convert=str.lower,
        doc="How dates and times are written: adaptive_time_microseconds: milliseconds or microseconds as the column "
        "has it, times in microseconds. connect: Connect's types, in milliseconds; a time that no clock shows is null.",
    )
    time_adjuster = settings.Boolean(
        "enable.time.adjuster",
        default=True,
        group=EVENTS,
        doc="Whether years before 100 are meant with two digits: 0001 is 2001, 0070 is 1970.",
    )
    include_query = settings.Boolean(
        "include.query",
        default=False,
        importance="LOW",
        group=EVENTS,
        validator=_no_query,
        doc="Not supported: true is refused.",
    )
    provide_transaction_metadata = no_transactions("source.gtid, source.file and source.pos")

    def __init__(self, config: Config) -> None:
        """Check parsed values.

        Raises:
            ConfigError: they contradict each other.
        """
        super().__init__(config)
        self.choose("database", self.database_include, self.database_exclude)
        self.modes = Modes(
            decimal=self.decimal_handling_mode,
            time=self.time_precision_mode,
            binary=self.binary_handling_mode,
            bigint=self.bigint_unsigned_handling_mode,
            adjusted=self.time_adjuster,
        )
