"""JdbcSourceConnector: finds the tables, follows new and dropped ones, and distributes them among the tasks."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from sqlalchemy.exc import SQLAlchemyError

from connect import (
    ConfigError,
    ConnectError,
    ExactlyOnceSupport,
    RetriableError,
    SourceConnector,
    __version__,
)
from connect.api.engine import WORKER
from connect.kit import Watch, shared_out
from connect.settings import ConfigValue
from connectors.jdbc.database import Database, TableName
from connectors.jdbc.database.connection import reason
from connectors.jdbc.database.url import translate
from connectors.jdbc.source import keys, offsets
from connectors.jdbc.source.keys import BULK, SNAPSHOT, JdbcSourceOptions
from connectors.jdbc.source.parts import Part, written
from connectors.jdbc.source.plan import key_of, names
from connectors.jdbc.source.servers import Select, Server, server_of
from connectors.jdbc.source.splits import NO_SUFFIX
from connectors.jdbc.source.tables import Selection
from connectors.jdbc.source.task import JdbcSourceTask

log = logging.getLogger(__name__)

#: How long until tables that could not be listed are listed again, at most.
_RETRY_S: Final = 10.0


class JdbcSourceConnector(SourceConnector):
    """Rows of tables, or of a query, into topics."""

    settings = JdbcSourceOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"sqlalchemy": "connect-runtime[jdbc]"}
    version = __version__
    task = JdbcSourceTask
    engines = (WORKER, "spark")

    @classmethod
    def datasets(cls, config: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        from connectors.jdbc.database.lineage import datasets

        return datasets(config["connection.url"], JdbcSourceOptions.parse(config).table_whitelist)

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._options = options = JdbcSourceOptions.parse(self.config)
        self._watch: Watch[list[Part]] | None = None
        if not options.query:
            tables = _Tables(options, self.config)
            seconds = options.table_poll_interval
            self._watch = Watch(
                f"tables of {tables.database}",
                tables.parts,
                seconds,
                self.context,
                retry_seconds=min(seconds, _RETRY_S),
                names=iter,
                closing=tables.database.close,
            )
            self._watch.start()
            self.context.exit_stack.callback(self._watch.stop)
            self.context.exit_stack.callback(tables.database.give_up)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if self._watch is None:
            return [{**self.config, **written([Part()])}]
        limit = self._options.table_monitoring_startup_polling_limit
        parts = self._watch.found(limit)
        if not parts:
            log.warning("No table is there that the keys mean, so no task runs. New tables are looked for.")
        stored = [self._as_stored(part) for part in parts]
        return [{**self.config, **written(share)} for share in shared_out(stored, max_tasks)]

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config)
        if any(value.errors for value in values):
            return values
        found = {value.name: value for value in values}
        try:
            translate(JdbcSourceOptions.parse(config).url)
        except ConfigError as error:
            found[error.key].errors.append(error.message)
        if found["query.suffix"].value and (config.get("engine") or "").strip() == "spark":
            found["query.suffix"].errors.append(NO_SUFFIX)
        return values

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.jdbc.source.listing import patterns_to_read, tables_to_read

        found = patterns_to_read(config) if key.endswith(".list") else tables_to_read(config)
        return [name for name in found if "," not in name]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        # Bulk repeats by its nature; and of many rows with one time nobody can say which were read.
        exact = (config.get("mode") or "").strip() in (keys.INCREMENTING, keys.BOTH)
        return ExactlyOnceSupport.SUPPORTED if exact else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], changed: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for frozen, offset in changed.items():
            partition = dict(frozen)
            if offset is None:
                continue
            known = set(partition) <= {"protocol", "table", "split"} and isinstance(partition.get("table"), str)
            known = known and partition.get("protocol", "1") == "1"
            if partition != offsets.QUERY and not known:
                raise ConnectError(
                    'A source partition of tables reads {"protocol": "1", "table": "catalog.schema.table"}, of a query '
                    '{"query": "query"}.'
                )
            if wrong := offsets.problem(offset):
                raise ConnectError(f"The offset of {partition} is wrong: {wrong}.")
        return True

    def _as_stored(self, part: Part) -> Part:
        """A range of a table as it was split when its snapshot began: positions refer to those ranges."""
        if part.table is None or not part.cuts or self._options.mode != SNAPSHOT:
            return part
        for number in range(1, len(part.cuts) + 2):
            (partition,) = offsets.partitions(part.table, f"{number}/{len(part.cuts) + 1}")
            stored = self.context.offset(partition)
            if stored and stored.get(offsets.CUTS):
                return Part(part.table, part.number, tuple(stored[offsets.CUTS]))
        return part


class _Tables:
    """Finds the tables, over a connection of its own. For the thread of the watch."""

    def __init__(self, options: JdbcSourceOptions, config: Mapping[str, str]) -> None:
        self._options = options
        self._cuts: dict[TableName, tuple[int, ...]] = {}
        self.database = Database(options, config)
        self._server: Server = server_of(self.database, quotes=options.quotes)

    def parts(self) -> list[Part]:
        """What to read now.

        Raises:
            RetriableError: the database is unavailable.
            ConnectError: it refuses, or the keys do not fit its tables.
        """
        try:
            return self._parts()
        except (ConnectError, SQLAlchemyError, OSError) as error:
            self.database.discard()
            if isinstance(error, ConnectError) and not isinstance(error, RetriableError):
                raise
            why = str(error) if isinstance(error, RetriableError) else f"{self.database}: {reason(error)}"
            raise RetriableError(f"The tables could not be listed: {why}", waits_for=str(self.database)) from error

    def _parts(self) -> list[Part]:
        connection = self._server.connect()
        tables = Selection(self._options, self._server.catalog(connection)).of(self._server.tables(connection))
        if self._options.table_splits == 1:
            return [Part(table) for table in tables]
        parts: list[Part] = []
        for table in tables:
            if table not in self._cuts:
                self._cuts[table] = self._cut(connection, table)
            cuts = self._cuts[table]
            parts += [Part(table, number, cuts) for number in range(1, len(cuts) + 2)]
        return parts

    def _cut(self, connection: Any, table: TableName) -> tuple[int, ...]:
        """The keys at which a table's ranges begin: of equal width between the lowest and the highest key."""
        assert self._options.mode in (BULK, SNAPSHOT)
        source = self._server.name(table)
        whole = Select(f"SELECT * FROM {source}", source, table)
        columns = self._server.columns(connection, whole)
        name = names(self._options, Part(table))[2]
        key = key_of(columns, name, self._server.primary_key(connection, table))
        if key is None:
            log.info("Table %s has no key of whole numbers to cut it by, and is read as one.", table)
            return ()
        name = self._server.column(key.name)
        with connection.begin():
            low, high = (
                connection.execution_options(no_parameters=True)
                .exec_driver_sql(f"SELECT MIN({name}), MAX({name}) FROM {source}")
                .one()
            )
        splits = self._options.table_splits
        if low is None or int(high) - int(low) < splits:
            return ()
        width = int(high) - int(low) + 1
        return tuple(int(low) + width * number // splits for number in range(1, splits))
