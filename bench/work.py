"""What is measured, as properties of a worker: a file to a topic, the topic to a file, and JSON transformed between."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

PLUGINS = Path(__file__).parent / "plugins"

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"

# The one transformation that changes nothing. Kafka Connect has none of that kind; a RegexRouter whose expression
# matches no topic comes nearest: it looks at the record and returns the same one.
JAVA_UNCHANGED = {
    "transforms": "same",
    "transforms.same.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.same.regex": "no-topic-is-called-this",
    "transforms.same.replacement": "never",
}
OUR_UNCHANGED = {"transforms": "same", "transforms.same.type": "unchanged.Unchanged"}

# Three transformations of the kind that most configurations have: a field less and another name, one more, a cast.
_TRANSFORMS = "org.apache.kafka.connect.transforms"
THREE = {
    "transforms": "replace,insert,cast",
    "transforms.replace.type": f"{_TRANSFORMS}.ReplaceField$Value",
    "transforms.replace.exclude": "active",
    "transforms.replace.renames": "name:customer",
    "transforms.insert.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.insert.static.field": "origin",
    "transforms.insert.static.value": "bench",
    "transforms.cast.type": f"{_TRANSFORMS}.Cast$Value",
    "transforms.cast.spec": "id:string",
}
_FIELDS = {"id": "int64", "name": "string", "active": "boolean", "amount": "double", "note": "string"}
DECLARED = json.dumps(
    {
        "type": "struct",
        "fields": [{"field": name, "type": kind, "optional": False} for name, kind in _FIELDS.items()],
    }
)
_DECLARED = DECLARED.encode()


def text_envelope(line: bytes) -> bytes:
    """A line as JsonConverter writes a string with schemas.enable=true."""
    text = json.dumps(line.decode(), ensure_ascii=False)
    return b'{"schema":{"type":"string","optional":false},"payload":%b}' % text.encode()


def object_envelope(line: bytes) -> bytes:
    """A line, which is a JSON object, as JsonConverter writes it with schemas.enable=true."""
    return b'{"schema":%b,"payload":%b}' % (_DECLARED, line)


#: What the topics that sinks read hold of each line.
FILLED: Mapping[str, Callable[[bytes], bytes]] = {
    "filled-text": bytes,
    "filled-json": text_envelope,
    "filled-objects": object_envelope,
}


def transformed(line: bytes, *, schema: bool) -> bytes:
    """What the three make of a line, as a file sink writes it. Without a schema the order of fields is anybody's."""
    row = json.loads(line)
    fields = {"id": row["id"], "customer": row["name"], "amount": row["amount"], "note": row["note"], "origin": "bench"}
    texts = [f"{name}={value}" for name, value in fields.items()]
    return ("Struct{" + ",".join(texts) + "}" if schema else "{" + ", ".join(texts) + "}").encode()


@dataclass(frozen=True)
class Work:
    """One line of the table.

    Attributes:
        direction: `source` (a file to a topic) or `sink` (the topic to a file).
        variant: `string`, `json` or `unchanged`; for a sink also `schemaless`, `declared` (by schema.content) and
            `enveloped`: JSON objects through three transformations.
        jars: whether our worker runs Java's class, too.
    """

    direction: str
    variant: str
    jars: bool = False

    @property
    def name(self) -> str:
        """What `--only` chooses by."""
        return f"{self.direction}-{self.variant}"

    @property
    def title(self) -> str:
        """What the table says."""
        way = "file to topic" if self.direction == "source" else "topic to file"
        how = {
            "string": "text",
            "json": "JSON with its schema",
            "unchanged": "text, one transformation",
            "schemaless": "JSON without a schema, three transformations",
            "declared": "JSON of a declared schema, three transformations",
            "enveloped": "JSON with its schema in each record, three transformations",
        }
        return f"{way}, {how[self.variant]}"

    @property
    def is_json(self) -> bool:
        """Whether the topic holds JSON envelopes; otherwise it holds the lines as they are."""
        return self.variant == "json"

    @property
    def transforms(self) -> bool:
        """Whether the lines are objects that come out changed."""
        return self.variant in {"schemaless", "declared", "enveloped"}

    @property
    def topic(self) -> str:
        """The topic that a sink reads."""
        return {"json": "filled-json", "enveloped": "filled-objects"}.get(self.variant, "filled-text")

    def worker_properties(self, bootstrap: str, folder: Path, port: int) -> dict[str, str]:
        """The worker's properties. Whatever is not here has Kafka Connect's default."""
        converter = JSON if self.is_json or self.transforms else STRING
        how = {
            "schemaless": {"value.converter.schemas.enable": "false"},
            "declared": {"value.converter.schema.content": DECLARED},
        }
        return {
            "bootstrap.servers": bootstrap,
            "key.converter": converter if self.is_json else STRING,
            "value.converter": converter,
            **how.get(self.variant, {}),
            "offset.storage.file.filename": str(folder / "offsets"),
            "listeners": f"http://127.0.0.1:{port}",
        }

    def connector_properties(self, name: str, topic: str, file: Path) -> dict[str, str]:
        """The connector's properties but for the transformation that changes nothing."""
        source = self.direction == "source"
        return {
            "name": name,
            "connector.class": "FileStreamSource" if source else "FileStreamSink",
            "tasks.max": "1",
            "file": str(file),
            "topic" if source else "topics": topic,
            **(THREE if self.transforms else {}),
        }


LINES = [Work(direction, variant) for direction in ("source", "sink") for variant in ("string", "json", "unchanged")]
CHAIN = [Work("sink", variant) for variant in ("schemaless", "declared", "enveloped")]


def write_properties(path: Path, properties: Mapping[str, str]) -> Path:
    """Write a property file. None of our values holds a character that Java's syntax would have escaped."""
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
    return path
