"""A Delta source's task in a process of its own, with a Spark of its own: to be killed.

    python source_driver.py '{"config": {...}, "worker": {...}, "accounts": "...", "offsets": "file", "die": "after"}'

It says "batch N" when a batch is written, and ends when its standard input does.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from connect.plugins.lifetime import Lifetime
from spark_sink.source.batches import BatchWriter
from spark_sink.source.delta_task import DeltaSourceTask
from tests.integration.spark_sink.source_runs import Context


class Stored(Context):
    """Offsets are in a file."""

    file: Path

    def store_offsets(self, entries: Any) -> None:
        super().store_offsets(entries)
        self.file.write_text(json.dumps(self.stored))


def main() -> None:
    told = json.loads(sys.argv[1])
    file = Path(told["offsets"])
    stored = json.loads(file.read_text()) if file.exists() else {}
    broker: Any = SimpleNamespace(bootstrap_servers=told["servers"])
    context = Stored(broker, told["config"], stored, told["accounts"])
    context.file = file
    context.plugin_path = told["plugins"]
    write = BatchWriter.__call__

    def watched(writer: BatchWriter, rows: Any, batch: int) -> None:
        write(writer, rows, batch)
        if told["die"] == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        sys.stdout.write(f"batch {batch}\n")
        sys.stdout.flush()

    BatchWriter.__call__ = watched  # type: ignore[method-assign]
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    task = DeltaSourceTask()
    task.context = context  # type: ignore[assignment]
    life = Lifetime(task)
    try:
        life.start(paused=False)
        while not over.is_set():
            task.watch(0.1)
    finally:
        life.end()


if __name__ == "__main__":
    main()
