"""Changes of a MySQL or MariaDB server as they happen: its binary log, in Debezium's form."""

from connectors.jdbc.mysql_capture.connector import MariaDbCdcSourceConnector, MySqlCdcSourceConnector
from connectors.jdbc.mysql_capture.task import MariaDbCdcSourceTask, MySqlCdcSourceTask

__all__ = ["MariaDbCdcSourceConnector", "MariaDbCdcSourceTask", "MySqlCdcSourceConnector", "MySqlCdcSourceTask"]
