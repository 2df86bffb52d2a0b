"""Change capture passes the suite that every plug-in should pass."""

import uuid
from typing import ClassVar

import pytest

from connect.testing.conformance import SourceConformance
from connectors.jdbc.capture import PostgresCdcSourceConnector
from tests.servers.postgresql import PostgresDatabase


class TestPostgresCdc(SourceConformance):
    connector = PostgresCdcSourceConnector
    #: The server forgets what is confirmed: an offset of before that is none that one can go back to.
    every_offset_resumes = False
    #: Rows are bounded in number and in bytes, both before they have their envelope.
    names_as_elsewhere: ClassVar[frozenset[str]] = frozenset({"signal.kafka.groupId"})
    most_rows: ClassVar[int] = 10_240
    most_bytes: ClassVar[int] = 8 << 20

    @pytest.fixture(autouse=True)
    def _database(self, postgres_database: PostgresDatabase) -> None:
        self.database = postgres_database
        self.slot = f"suite_{uuid.uuid4().hex[:12]}"
        self.database.execute("CREATE TABLE thing (number int PRIMARY KEY)")

    def config(self) -> dict[str, str]:
        return {
            "database.hostname": self.database.host,
            "database.port": str(self.database.port),
            "database.user": self.database.user,
            "database.password": self.database.password,
            "database.dbname": self.database.name,
            "topic.prefix": "suite",
            "slot.name": self.slot,
            "table.include.list": "public.thing",
            "poll.interval.ms": "50",
            "transforms": "row",
            "transforms.row.type": "io.debezium.transforms.ExtractNewRecordState",
        }

    def value(self, number: int) -> dict[str, int]:
        return {"number": number}

    def produce(self, first: int, count: int) -> None:
        self.database.execute(
            f"INSERT INTO thing SELECT generate_series({first}, {first + count - 1}) ON CONFLICT DO NOTHING"
        )
