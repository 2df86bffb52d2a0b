"""A third party's sink: a line of JSON for each record, in a file for each topic partition. Its ways are configured.

`hang` names a value: the first put that sees it stops in its middle, after having written half of the batch and the
number of its process into the file `hanging`.
"""

import json
import os
import time
from pathlib import Path

from connect import DataError, RetriableError, SinkConnector, SinkTask

JSON = {bytes: bytes.hex}


class LinesTask(SinkTask):
    idempotent = True

    def start(self, config):
        self.folder = Path(config["folder"])
        self.config = config
        self.pending = []

    def put(self, batch):
        hang, poison = self.config.get("hang"), self.config.get("poison")
        if (self.folder / "busy").exists():
            self.note("refused")
            raise RetriableError("The target is busy.")
        records = list(batch)
        if poison and any(record.value == poison for record in records):
            raise DataError("It is poison.")
        if hang and any(record.value == hang for record in records) and not (self.folder / "hanging").exists():
            self.append(records[: len(records) // 2])
            self.note("hanging")
            while True:
                time.sleep(0.05)
        self.append(records)

    def pre_commit(self, offsets):
        keep = int(self.config.get("keep", 0))
        return {place: max(0, offset - keep) for place, offset in offsets.items()}

    def note(self, name):
        new = self.folder / f".{name}"
        new.write_text(str(os.getpid()))
        new.replace(self.folder / name)

    def append(self, records):
        self.context.metrics.count("lines_total", len(records))
        self.context.metrics.observe("lines_value_seconds", 0.5)
        for record in records:
            with (self.folder / f"{record.original_topic}-{record.original_partition}.jsonl").open("a") as file:
                file.write(json.dumps([record.original_offset, record.value, self.context.task_id]) + "\n")


class LinesSinkConnector(SinkConnector):
    task = LinesTask

    def task_configs(self, max_tasks):
        return [dict(self.config)] * max_tasks
