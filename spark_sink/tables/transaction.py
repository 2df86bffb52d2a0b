"""A batch's transaction in a Delta table: Delta skips a batch whose transaction the table has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from spark_sink.tables.sessions import own_session

_CONF: Final = "spark.databricks.delta.write."
#: A user may set it for the whole session.
NOTE: Final = "spark.databricks.delta.commitInfo.userMetadata"


@dataclass(frozen=True, slots=True)
class Transaction:
    """What identifies a batch.

    Attributes:
        app_id: names the query's transactions.
        version: the batch's number.
        note: what the commit says of the batch; empty for nothing.
    """

    app_id: str
    version: int
    note: str = ""

    @property
    def options(self) -> dict[str, str]:
        """For a writer of rows."""
        found = {"txnAppId": self.app_id, "txnVersion": str(self.version)}
        return {**found, "userMetadata": self.note} if self.note else found

    @contextlib.contextmanager
    def session(self, spark: Any) -> Iterator[Any]:
        """A session for a statement, within the context: of a MERGE, Delta takes it from the session's configuration.

        A streaming query has a session of its own in Spark itself; over Spark Connect it shares that of the client with
        others, so a clone of it serves.
        """
        with own_session(spark) as own:
            conf = {f"{_CONF}txnAppId": self.app_id, f"{_CONF}txnVersion": str(self.version)}
            if self.note:
                conf[NOTE] = self.note
            for key, value in conf.items():
                own.conf.set(key, value)
            try:
                yield own
            finally:
                for key in conf:
                    own.conf.unset(key)
