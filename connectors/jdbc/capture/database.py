"""The database beside its stream: an ordinary connection, the server's requirements, its publication and slot."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import psycopg

from connect import ConnectError, RetriableError
from connect.errors import one_line
from connectors.jdbc.capture import catalog
from connectors.jdbc.capture.catalog import TableId, quoted
from connectors.jdbc.capture.keys import CaptureOptions
from connectors.jdbc.capture.replication import parse_lsn
from connectors.jdbc.changes import signals
from connectors.jdbc.database.failures import passes

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot. `lost`: the server has removed log that it needs."""

    confirmed: int
    active_pid: int | None
    lost: bool


class CapturedDatabase:
    """One ordinary connection, in autocommit.

    Args:
        parameters: libpq's.

    Raises:
        RetriableError: it cannot be reached now.
        ConnectError: it refuses the login.
    """

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self.name = parameters["dbname"]
        self._where = f"PostgreSQL {parameters.get('host', '')}:{parameters.get('port', '')}/{self.name}"
        try:
            self.connection = psycopg.connect(**cast("Any", dict(parameters)), autocommit=True)
        except psycopg.Error as error:
            said = one_line(error)
            if passes(error):
                raise RetriableError(f"{self._where} cannot be reached: {said}", waits_for=self._where) from error
            raise ConnectError(f"{self._where} refuses the connection: {said}") from error
        except UnicodeError as error:
            raise ConnectError(f"{self._where[:100]} is not a place where a database can be: {error}") from error

    def query(self, sql: str, values: Any = None) -> list[Any]:
        """The rows of a statement, none for one that has none.

        Raises:
            RetriableError: the connection broke, or it may work later.
            ConnectError: it was refused.
        """
        try:
            done = self.connection.execute(sql, values)
            return list(done.fetchall()) if done.description else []
        except psycopg.Error as error:
            said = one_line(error)
            if passes(error) or self.connection.closed:
                raise RetriableError(f"{self._where} does not answer: {said}", waits_for=self._where) from error
            raise ConnectError(f"{self._where}: {said}") from error

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def problem(self) -> str | None:
        """Why changes of this database cannot be captured, and what to do about it."""
        (level, role, version), *_ = self.query(
            "SELECT current_setting('wal_level'), (SELECT rolreplication OR rolsuper FROM pg_catalog.pg_roles "
            "WHERE rolname = current_user), current_setting('server_version_num')::int"
        )
        if version < 100_000:
            return "PostgreSQL is older than version 10, which is the first with pgoutput."
        if level != "logical":
            return (
                f"wal_level of the server is {level}. Set wal_level=logical in postgresql.conf "
                "(rds.logical_replication=1 on Amazon RDS) and restart the server."
            )
        if not role:
            (user,) = self.query("SELECT current_user")[0]
            # Providers have roles of their own for this.
            providers = self.query(
                "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname IN ('rds_replication', 'azure_pg_admin') "
                "AND pg_has_role(current_user, oid, 'MEMBER')"
            )
            if not providers:
                return f'The role {user} may not replicate. Grant it: ALTER ROLE "{user}" REPLICATION.'
        return None

    def tables(self, chosen: CaptureOptions) -> list[TableId]:
        """The captured tables, by name: partitions, or, via their root, the tables that they belong to."""
        root = chosen.publish_via_partition_root
        return [
            each
            for each in catalog.tables(self.query)
            if chosen.selection.table(each.schema, each.name) and not (each.partition if root else each.parent)
        ]

    def ensure_publication(self, chosen: CaptureOptions) -> None:
        """See the key publication.autocreate.mode.

        Raises:
            ConnectError: there is none and none may be made.
        """
        mode, name = chosen.publication_autocreate_mode, chosen.publication
        there = self.query("SELECT puballtables FROM pg_catalog.pg_publication WHERE pubname = %s", [name])
        if there and (mode != "filtered" or there[0][0]):
            return
        if not there and mode == "disabled":
            raise ConnectError(
                f'There is no publication "{name}". Make one (CREATE PUBLICATION {name} FOR TABLE ...), or set '
                "publication.autocreate.mode."
            )
        publication = quoted(name)
        root = chosen.publish_via_partition_root
        options = " WITH (publish_via_partition_root = true)" if root else ""
        published = self._published(chosen)
        if mode == "filtered":
            tables = ", ".join(f"{quoted(each.schema)}.{quoted(each.name)}" for each in published)
            if not tables:
                raise ConnectError("No table matches schema.include.list, table.include.list and their counterparts.")
            if there:
                if self._has_others(name, published, root):
                    self.query(f"ALTER PUBLICATION {publication} SET TABLE {tables}")
                return
            what = f" FOR TABLE {tables}"
        else:
            what = " FOR ALL TABLES" if mode == "all_tables" else ""
        try:
            self.query(f"CREATE PUBLICATION {publication}{what}{options}")
        except RetriableError:
            raise
        except ConnectError as error:
            raise ConnectError(
                f'The publication "{name}" cannot be made: {error}. Have it made by somebody who may '
                f"(CREATE PUBLICATION {name} FOR TABLE ...), or set publication.autocreate.mode=filtered, which asks "
                "for less."
            ) from error

    def _published(self, chosen: CaptureOptions) -> list[TableId]:
        """The captured tables, and that of signals; and whose partitions they are, for the partitions to come."""
        captured = self.tables(chosen)
        whole = set() if chosen.publish_via_partition_root else self._whole([each.oid for each in captured])
        return captured + [
            each
            for each in catalog.tables(self.query)
            if each not in captured
            and (
                each.full_name == chosen.signal_table
                or (each.oid in whole and chosen.selection.table(each.schema, each.name))
            )
        ]

    def _whole(self, captured: list[int]) -> set[int]:
        """The partitioned tables of which all partitions are captured: others are not to be published with them."""
        if self.connection.info.server_version < 130_000:  # which publishes partitions only
            return set()
        found = self.query(
            "SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relkind = 'p' AND NOT EXISTS (SELECT FROM "
            "pg_partition_tree(c.oid) t WHERE t.isleaf AND t.relid <> ALL (%s::oid[]))",
            [captured],
        )
        return {oid for (oid,) in found}

    def _has_others(self, publication: str, wanted: list[TableId], root: bool) -> bool:
        """Whether a publication has other tables than these. Those that are too many may be another connector's."""
        found = self.query(
            "SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = %s", [publication]
        )
        there, needed = {name for (name,) in found}, {each.full_name for each in wanted if root or not each.parent}
        if strange := sorted(there - needed):
            log.warning(
                'The publication "%s" is left without %s, which this connector does not capture. If another one reads '
                "it, it loses the changes of these tables: give each a publication of its own (publication.name).",
                *(publication, ", ".join(strange)),
            )
        if there != needed:
            return True
        named = self.query(
            "SELECT r.prrelid FROM pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p "
            "ON p.oid = r.prpubid WHERE p.pubname = %s",
            [publication],
        )
        # One of whole schemas names no tables.
        return bool(named) and not {each.oid for each in wanted if each.parent} <= {oid for (oid,) in named}

    def problem_of_signals(self, chosen: CaptureOptions) -> str | None:
        """Why the stream would have no signals, and what to do about it."""
        if not (table := chosen.signal_table):
            return None
        if table not in {each.full_name for each in catalog.tables(self.query)}:
            columns = ", ".join(f"{name} text" for name in signals.COLUMNS)
            return (
                f'There is no table "{table}", which signal.data.collection names. Make it: '
                f"CREATE TABLE {table} ({columns})"
            )
        there = self.query(
            "SELECT 1 FROM pg_catalog.pg_publication_tables WHERE pubname = %s AND schemaname || '.' || tablename = %s",
            [chosen.publication, table],
        )
        if not there:
            return (
                f'The publication "{chosen.publication}" is without the table "{table}", which signal.data.collection '
                f"names. Add it: ALTER PUBLICATION {quoted(chosen.publication)} ADD TABLE {table}"
            )
        return None

    def slot(self, name: str) -> Slot | None:
        """A replication slot.

        Raises:
            ConnectError: it is used for something else.
        """
        status = "wal_status" if self.connection.info.server_version >= 130_000 else "NULL"
        found = self.query(
            f"SELECT plugin, database, confirmed_flush_lsn::text, active_pid, {status} "
            "FROM pg_catalog.pg_replication_slots WHERE slot_name = %s",
            [name],
        )
        if not found:
            return None
        plugin, database, confirmed, active, status = found[0]
        if plugin != "pgoutput" or database != self.name:
            of = f"of the database {database}" if database else "physical"
            raise ConnectError(
                f'The replication slot "{name}" is {of}, for the plug-in {plugin}. Name another one in slot.name.'
            )
        return Slot(parse_lsn(confirmed or "0/0"), active, status == "lost")

    def open_transactions(self) -> list[str]:
        """The transactions that have written and are not over, the oldest first: a new slot waits for their end."""
        return [
            str(what)
            for (what,) in self.query(
                "SELECT what FROM (SELECT 'the prepared transaction ' || quote_literal(gid) AS what, prepared AS since "
                "FROM pg_catalog.pg_prepared_xacts UNION ALL SELECT 'that of process ' || pid, xact_start "
                "FROM pg_catalog.pg_stat_activity WHERE backend_xid IS NOT NULL) AS found ORDER BY since"
            )
        ]

    def drop_slot(self, name: str) -> None:
        """Remove a slot that nobody uses."""
        self.query("SELECT pg_drop_replication_slot(%s)", [name])

    def now(self) -> tuple[str, int, int]:
        """The current transaction's snapshot, the end of the log, and the time in microseconds since 1970.

        On a standby the log ends with what it has applied.
        """
        snapshot, end, at = self.query(
            "SELECT txid_current_snapshot()::text, (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() "
            "ELSE pg_current_wal_insert_lsn() END)::text, "
            "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        )[0]
        return snapshot, parse_lsn(end), at
