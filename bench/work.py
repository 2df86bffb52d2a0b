"""What is measured: a file to a topic and the topic to a file, each in three variants, as properties of a worker."""

from collections.abc import Mapping
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


@dataclass(frozen=True)
class Work:
    """One line of the table.

    Attributes:
        direction: `source` (a file to a topic) or `sink` (the topic to a file).
        variant: `string`, `json` or `unchanged`.
    """

    direction: str
    variant: str

    @property
    def name(self) -> str:
        """What `--only` chooses by."""
        return f"{self.direction}-{self.variant}"

    @property
    def title(self) -> str:
        """What the table says."""
        way = "File to topic" if self.direction == "source" else "Topic to file"
        how = {
            "string": "StringConverter",
            "json": "JsonConverter with its schema",
            "unchanged": "StringConverter, one transformation that changes nothing",
        }
        return f"{way}, {how[self.variant]}"

    @property
    def is_json(self) -> bool:
        """Whether the topic holds JSON envelopes; otherwise it holds the lines as they are."""
        return self.variant == "json"

    def worker_properties(self, bootstrap: str, folder: Path, port: int) -> dict[str, str]:
        """The worker's properties. Whatever is not here has Kafka Connect's default."""
        converter = JSON if self.is_json else STRING
        return {
            "bootstrap.servers": bootstrap,
            "key.converter": converter,
            "value.converter": converter,
            "offset.storage.file.filename": str(folder / "offsets"),
            "listeners": f"http://127.0.0.1:{port}",
        }

    def connector_properties(self, name: str, topic: str, file: Path) -> dict[str, str]:
        """The connector's properties but for its transformation."""
        source = self.direction == "source"
        return {
            "name": name,
            "connector.class": "FileStreamSource" if source else "FileStreamSink",
            "tasks.max": "1",
            "file": str(file),
            "topic" if source else "topics": topic,
        }


ALL = [Work(direction, variant) for direction in ("source", "sink") for variant in ("string", "json", "unchanged")]


def write_properties(path: Path, properties: Mapping[str, str]) -> Path:
    """Write a property file. None of our values holds a character that Java's syntax would have escaped."""
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
    return path
