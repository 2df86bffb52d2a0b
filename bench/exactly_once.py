"""`python -m bench.exactly_once`: what exactly-once delivery of a file source costs, beside at-least-once.

4,000,000 lines of 100 bytes by one task into one partition, in a worker of a group of its own: at least once; exactly
once with a transaction for each poll (of a mebibyte, as the source polls by itself), with one each second, and with one
for each poll of 2,000 lines, beside at-least-once with such polls. Only committed records count.
"""

import sys
import time
from pathlib import Path
from typing import Any, Final

from bench import one
from bench.document import Rows
from bench.files import write_lines
from bench.machine import kafka_connect, say, versions
from bench.part import Settings
from bench.pool import FILE_SOURCE, pool
from bench.standalone import Memory, watch
from bench.tables import between, markdown
from bench.topics import Topics
from connect.kafka.broker import embedded as broker

_EXACTLY: Final = {"exactly.once.source.support": "enabled"}
_SMALL: Final = {"batch.size": "2000"}
#: What the worker is told, and the connector. The names are those of rows and sides.
MODES: Final[dict[tuple[str, str], tuple[dict[str, str], dict[str, str]]]] = {
    ("a mebibyte a poll", "at least once"): ({}, {}),
    ("a mebibyte a poll", "poll"): (_EXACTLY, {"transaction.boundary": "poll"}),
    ("a mebibyte a poll", "interval"): (
        _EXACTLY,
        {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "1000"},
    ),
    ("2,000 lines a poll", "at least once"): ({}, _SMALL),
    ("2,000 lines a poll", "poll"): (_EXACTLY, {"transaction.boundary": "poll", **_SMALL}),
}


def measure(settings: Settings) -> dict[str, Any]:
    """All ways in turn."""
    count, rounds = settings.count(4_000_000, 300_000), settings.repeat()
    rows = Rows({"poll": ["at least once"], "interval": ["at least once"]})
    lines = settings.folder / "lines"
    write_lines(lines, count)
    try:
        bootstrap = broker.ensure_running(settings.folder / "broker", port=0).bootstrap_servers
        with Topics(bootstrap) as topics:
            for number in range(rounds):
                for (row, side), (worker, connector) in MODES.items():
                    if settings.wants(f"{row}, {side}"):
                        found = _one(bootstrap, topics, settings.folder, lines, count, worker, connector)
                        rows.add(row, side, found, number)
                        say(f"{row}, {side:13}  {found['rate']:>9,.0f} records/s  {found['cpu_us']:.2f} us of CPU")
    finally:
        broker.stop(settings.folder / "broker")
    return {
        "settings": {"rounds": rounds, "lines": count},
        "versions": {**kafka_connect(), **versions("connect-runtime", "confluent-kafka")},
        "rows": rows.as_json(),
    }


def _one(
    bootstrap: str,
    topics: Topics,
    folder: Path,
    lines: Path,
    count: int,
    worker: dict[str, str],
    connector: dict[str, str],
) -> dict[str, float]:
    """One run in a worker of its own, into a topic of its own."""
    with pool("ours", bootstrap, folder, 1, worker) as workers:
        topic = workers.name
        topics.create(topic)
        config = {"name": topic, "connector.class": FILE_SOURCE, "file": str(lines), "topic": topic, **connector}
        last = _last(lines)

        def committed() -> int:
            """How many records are committed: all once the last line is. The end of a transaction is a record, too."""
            end = topics.end(topic)
            if end < count:
                return end
            at = end - 2 if worker else end - 1
            return count if topics.value(topic, at) == last else count - 1

        pid, log = workers.workers[0].process.pid, workers.workers[0].log
        with Memory(pid) as memory:
            began = time.monotonic()
            workers.rest.put(f"/connectors/{topic}/config", config)
            found = watch(committed, count, pid, began, log, 0.02)
    topics.delete(topic)
    return {**found, "pss_mb": memory.most}


def _last(lines: Path) -> bytes:
    """The last line of a file."""
    with lines.open("rb") as file:
        file.seek(-4096, 2)
        return file.read().splitlines()[-1]


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    titles = {"poll": "exactly once, a transaction a poll", "interval": "exactly once, one a second"}
    lines = [["", "", "records/s", "ratio", "spread"]]
    for row, sides in document["rows"].items():
        for number, (side, found) in enumerate(sides.items()):
            spread = found.get("ratio", {}).get("at least once", {}).get("rate", {})
            lines.append(
                [
                    "" if number else row,
                    titles.get(side, side),
                    f"{found['median']['rate']:,.0f}",
                    f"{spread['median']:.2f}" if spread else "",
                    between(spread),
                ]
            )
    return markdown(lines, left=2)


if __name__ == "__main__":
    sys.exit(one.main("bench.exactly_once", "exactly_once"))
