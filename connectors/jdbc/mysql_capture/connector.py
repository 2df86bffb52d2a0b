"""MySqlCdcSource and MariaDbCdcSource: changes of a server, by its binary log, in Debezium's form.

https://mariadb.com/docs/server/server-management/server-monitoring-logs/binary-log
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from connect import ConfigError, ConnectError, ExactlyOnceSupport, SourceConnector, __version__
from connect.settings import ConfigValue
from connectors.jdbc.changes.offsets import check
from connectors.jdbc.mysql_capture.keys import CaptureOptions
from connectors.jdbc.mysql_capture.login import connection_options
from connectors.jdbc.mysql_capture.task import MariaDbCdcSourceTask, MySqlCdcSourceTask

#: Seconds that a validation waits for the database.
_PATIENCE = 5


class MySqlCdcSourceConnector(SourceConnector):
    """One task captures one server: its log has one order."""

    settings = CaptureOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"pymysql": "connect-runtime[jdbc]"}
    version = __version__
    task = MySqlCdcSourceTask

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        found = super().validate(config)
        by_name = {each.name: each for each in found}
        if any(each.errors for each in found):
            return found
        try:
            _ask(CaptureOptions.parse(config), connection_options(config, _PATIENCE))
        except ConfigError as error:
            by_name[error.key if error.key in by_name else "database.hostname"].errors.append(error.message)
        except ConnectError as error:
            by_name["database.hostname"].errors.append(str(error))
        return found

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.jdbc.mysql_capture import listing

        with listing.opened(config, _PATIENCE) as server:
            return listing.databases(server) if key.startswith("database.") else listing.tables(server)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        check(
            config.get("topic.prefix"),
            offsets,
            lambda offset: isinstance(offset.get("file"), str) and isinstance(offset.get("pos"), int),
            'An offset is null or has a position in the log: {"file": "binlog.000003", "pos": 4}.',
        )
        return True


class MariaDbCdcSourceConnector(MySqlCdcSourceConnector):
    """The same under MariaDB's name, which is in the blocks `source` of its events."""

    task = MariaDbCdcSourceTask


def _ask(chosen: CaptureOptions, options: Mapping[str, Any]) -> None:
    """Ask the server itself. Raises ConnectError."""
    from connectors.jdbc.mysql_capture.database import CapturedServer
    from connectors.jdbc.mysql_capture.replication import ReplicationConnection

    server = CapturedServer(options)
    try:
        if problem := server.problem(chosen.server_id):
            raise ConnectError(problem)
        server.place()
    finally:
        server.close()
    # The server tells at once who may not replicate. One of the same number is ended only when the log is asked for.
    stream = ReplicationConnection(options, chosen.server_id)
    try:
        stream.register()
    finally:
        stream.close()
