"""Raw rows, and plans of tasks that note what is done with them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from connect.plugins.loading import load_class
from spark_sink.connector_sink.plan import WritePlan

FOLDER = str(Path(__file__).parent / "plugins")
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
COLUMNS = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers")
SCHEMA = pa.schema(
    [
        *(("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.int64())),
        *(("timestamp_type", pa.string()), ("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS)),
    ]
)


def rows(*values: Any, first: int = 0, topic: str = "t", partition: int = 0, **columns: Any) -> pa.RecordBatch:
    """Rows of one partition, from an offset on. A column is a value for all rows or a list of them."""
    n = len(values)
    whole = {
        "topic": topic,
        "partition": partition,
        "offset": list(range(first, first + n)),
        "timestamp": 1_700_000_000_000,
        "timestamp_type": "CreateTime",
        "key": None,
        "value": [json.dumps(value).encode() if isinstance(value, dict) else value for value in values],
        "headers": [None] * n,
        **columns,
    }
    listed = {name: item if isinstance(item, list) else [item] * n for name, item in whole.items()}
    return pa.RecordBatch.from_pydict({name: listed[name] for name in SCHEMA.names}, schema=SCHEMA)


def plan(task: str, **more: Any) -> WritePlan:
    """A plan for a task of the module of tests, with values as bytes."""
    worker = {"key.converter": BYTES, "value.converter": BYTES, "bootstrap.servers": "localhost:1"}
    connector = {"name": "c", **more.pop("connector", {})}
    worker.update(more.pop("worker", {}))
    return WritePlan("c", f"connector_sink_tasks:{task}", FOLDER, {"file": "f"}, connector, worker, **more)


def calls() -> list[Any]:
    """What was done with the tasks, in order; empty from now on."""
    module: Any = __import__("sys").modules[load_class("connector_sink_tasks:Noting", FOLDER).__module__]
    found, module.calls[:] = list(module.calls), []
    return found
