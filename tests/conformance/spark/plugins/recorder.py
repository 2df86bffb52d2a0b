"""A sink that writes down what it got: a line for each record, in a file for each topic partition it came from."""

import json
from pathlib import Path

from connect import SinkConnector, SinkTask


def said_schema(schema):
    """All that a schema says."""
    if schema is None:
        return None
    parts = {"type": schema.type.value, "optional": schema.optional}
    for name in ("name", "version", "doc", "default", "parameters"):
        if getattr(schema, name):
            parts[name] = said(getattr(schema, name))
    if schema.fields:
        parts["fields"] = [[field.name, said_schema(field.schema)] for field in schema.fields]
    for name in ("key_schema", "value_schema"):
        if getattr(schema, name, None) is not None:
            parts[name] = said_schema(getattr(schema, name))
    return parts


def said(value):
    """A value with the type that it has in Python, in the order of its parts."""
    if isinstance(value, dict):
        return [type(value).__name__, [[said(key), said(item)] for key, item in value.items()]]
    if isinstance(value, list):
        return ["list", [said(item) for item in value]]
    return None if value is None else f"{type(value).__name__} {value!r}"


class RecorderTask(SinkTask):
    def start(self, config):
        self.folder = Path(config["folder"])

    def put(self, batch):
        lines = {}
        for record in batch:
            place = f"{record.original_topic}-{record.original_partition}"
            headers = [[h.key, said(h.value), said_schema(h.schema)] for h in record.headers]
            line = {
                "offset": record.original_offset,
                "topic": record.topic,
                "partition": record.partition,
                "timestamp": [record.timestamp_type, record.timestamp],
                "key": [said(record.key), said_schema(record.key_schema)],
                "value": [said(record.value), said_schema(record.value_schema)],
                "headers": headers,
            }
            lines.setdefault(place, []).append(json.dumps(line) + "\n")
        for place, added in lines.items():
            with (self.folder / f"{place}.jsonl").open("a") as file:
                file.writelines(added)


class RecorderSink(SinkConnector):
    task = RecorderTask

    def task_configs(self, max_tasks):
        return [dict(self.config)] * max_tasks
