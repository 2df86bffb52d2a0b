"""What `connect migrate` says of connectors that were measured beside Java's, from bench/results."""

import json
from pathlib import Path
from typing import NamedTuple

from bench import document
from bench.machine import ROOT

FILE = ROOT / "connect" / "cli" / "measured.json"


class Compared(NamedTuple):
    """A connector whose ratios to Java's are in a document.

    Attributes:
        part, row: where in bench/results.
        peer: what it was compared with.
        what: what was moved.
    """

    part: str
    row: str
    peer: str
    what: str


#: By Java's class.
COMPARED = {
    "org.apache.kafka.connect.file.FileStreamSourceConnector": Compared(
        "files", "source-string", "Kafka Connect's", "a file of 2,000,000 lines"
    ),
    "org.apache.kafka.connect.file.FileStreamSinkConnector": Compared(
        "files", "sink-string", "Kafka Connect's", "a topic of 2,000,000 lines"
    ),
    "io.confluent.connect.jdbc.JdbcSinkConnector": Compared(
        "jdbc", "insert", "Debezium's JDBC sink", "1,000,000 records into PostgreSQL"
    ),
    "org.apache.kafka.connect.mirror.MirrorSourceConnector": Compared(
        "mirror", "plain", "Kafka Connect's", "400,000 records"
    ),
}


def text(results: Path) -> str:
    """The file: for each class that was measured, its rate and its CPU for a record, ours to the peer's."""
    found = {}
    for name, (part, row, peer, what) in COMPARED.items():
        measured = document.read(part, results)
        if measured is None or row not in measured["rows"]:
            continue
        ratio = measured["rows"][row]["ours"]["ratio"]["java"]
        rate, cpu = ratio["rate"]["median"], ratio["cpu_us"]["median"]
        found[name] = {"rate": rate, "cpu": cpu, "peer": peer, "what": what}
    return json.dumps(found, indent=2) + "\n"
