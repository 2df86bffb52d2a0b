"""Change capture of MariaDB passes the suite that every plug-in should pass."""

import itertools
import uuid
from collections.abc import Iterator
from typing import ClassVar

import pytest

from connect.testing.conformance import SourceConformance
from connectors.jdbc.mysql_capture import MariaDbCdcSourceConnector
from tests.servers.mariadb import MariaServer

_NUMBERS = itertools.count(60_000)


class TestMySqlCdc(SourceConformance):
    connector = MariaDbCdcSourceConnector
    #: A snapshot that was not finished starts again.
    every_offset_resumes = False
    #: Rows are bounded in number and in bytes, both before they have their envelope.
    names_as_elsewhere: ClassVar[frozenset[str]] = frozenset({"signal.kafka.groupId"})
    most_rows: ClassVar[int] = 10_240
    most_bytes: ClassVar[int] = 8 << 20

    @pytest.fixture(autouse=True)
    def _database(self, mariadb: MariaServer) -> Iterator[None]:
        self.database = mariadb.database(f"suite_{uuid.uuid4().hex[:12]}")
        self.database.execute("CREATE TABLE thing (number int PRIMARY KEY)")
        self.number = next(_NUMBERS)
        yield
        self.database.drop()

    def config(self) -> dict[str, str]:
        return {
            "database.hostname": self.database.host,
            "database.port": str(self.database.port),
            "database.user": self.database.user,
            "database.password": self.database.password,
            "database.server.id": str(self.number),
            "topic.prefix": "suite",
            "table.include.list": f"{self.database.name}.thing",
            "poll.interval.ms": "50",
            "transforms": "row",
            "transforms.row.type": "io.debezium.transforms.ExtractNewRecordState",
        }

    def value(self, number: int) -> dict[str, int]:
        return {"number": number}

    def produce(self, first: int, count: int) -> None:
        self.database.execute(f"INSERT IGNORE INTO thing SELECT seq FROM seq_{first}_to_{first + count - 1}")
