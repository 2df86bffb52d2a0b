"""MySqlCdcSource and MariaDbCdcSource: changes of a server, by its binary log, in Debezium's form.

https://mariadb.com/docs/server/server-management/server-monitoring-logs/binary-log
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from connect import ConnectError
from connectors.jdbc.changes.connector import PATIENCE, CaptureConnector
from connectors.jdbc.changes.offsets import check
from connectors.jdbc.mysql_capture.keys import CaptureOptions
from connectors.jdbc.mysql_capture.login import connection_options
from connectors.jdbc.mysql_capture.task import MariaDbCdcSourceTask, MySqlCdcSourceTask


class MySqlCdcSourceConnector(CaptureConnector):
    """One task captures one server: its log has one order."""

    settings = CaptureOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"pymysql": "connect-runtime[jdbc]"}
    task = MySqlCdcSourceTask

    def ask(self, config: Mapping[str, str]) -> None:
        from connectors.jdbc.mysql_capture.database import CapturedServer
        from connectors.jdbc.mysql_capture.replication import ReplicationConnection

        chosen, options = CaptureOptions.parse(config), connection_options(config, PATIENCE)
        server = CapturedServer(options)
        try:
            if problem := server.problem(chosen.server_id):
                raise ConnectError(problem)
            server.place()
        finally:
            server.close()
        # The server tells at once who may not replicate. One of the same number is ended only when the log is asked
        # for.
        stream = ReplicationConnection(options, chosen.server_id)
        try:
            stream.register()
        finally:
            stream.close()

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.jdbc.mysql_capture import listing

        with listing.opened(config, PATIENCE) as server:
            return listing.databases(server) if key.startswith("database.") else listing.tables(server)

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
