"""For authors of plug-ins: connectors in memory for unit tests, and a conformance suite.

`SourceRun` and `SinkRun` run a connector with its tasks through the loops that a worker uses, without Kafka and
without processes. `connect.testing.conformance` has the checks that every plug-in should pass.
"""

from connect.testing._broker import Message
from connect.testing._sink import SinkRun
from connect.testing._source import SourceRun
from connect.testing._turns import Blocked

__all__ = ["Blocked", "Message", "SinkRun", "SourceRun"]
