"""A Java sink with its own offsets reports a record late: `python -m tests.integration.java.batches_let_go JAR`.

Prints how many batches its task holds after each commit of offsets, and what was reported.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord, TopicPartition
from connect.java.plugins import stand_in


class _Reporter:
    def report(self, record: SinkRecord, error: Exception) -> None:
        sys.stdout.write(f"reported {record.offset} {record.value}\n")


def main(jar: str) -> int:
    """Returns the exit code."""
    place = TopicPartition("t", 0)
    connector = stand_in("sink", "x.Chain$Hoard", jar)()
    task: Any = connector.task_class()()
    with ExitStack() as stack:
        task.context = SimpleNamespace(
            exit_stack=stack, connector="hoard", task_id=0, errant_records=_Reporter(), assignment=frozenset({place}),
            request_commit=print,
        )  # fmt: skip
        task.start({})
        offset = 0
        for values in (["a", "b"], ["keep", "c"], ["d"], ["e"], ["report"], ["f"]):
            batch = SinkBatch.of(
                [SinkRecord(topic="t", partition=0, offset=offset + n, value=value) for n, value in enumerate(values)]
            )
            offset += len(values)
            task.put(batch)
            task.pre_commit({place: offset})
            sys.stdout.write(f"{len(task._put)} after {values[0]}\n")
        task.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
