"""Asks a transformation of the Java world what it makes of records: one Java process, JSON lines over its pipes."""

import json
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from connect import SinkRecord
from tests.conformance.converters.oracle import Answer, describe, plain, tagged


class Original:
    """A process that runs `Transform.java`.

    Args:
        java: the `java` program.
        classpath: the compiled program, the transformation's jars and those of Kafka Connect.
    """

    def __init__(self, java: Path, classpath: str) -> None:
        command = [str(java), "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-cp", classpath, "Transform"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, cls: str, cases: Sequence[tuple[dict[str, str], SinkRecord]]) -> list[Any]:
        """For each configuration and record what becomes of it: "error", None for dropped, or as `comparable` says."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        questions = [{"class": cls, "config": config, "record": _described(record)} for config, record in cases]
        lines = b"".join(json.dumps(question).encode() + b"\n" for question in questions)
        writer = threading.Thread(target=self._send, args=(lines,))
        writer.start()
        answers = [json.loads(self._process.stdout.readline()) for _ in questions]
        writer.join()
        return ["error" if "error" in answer else _answered(answer["record"]) for answer in answers]

    def _send(self, lines: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(lines)
        self._process.stdin.flush()

    def close(self) -> None:
        """End the Java process."""
        self._process.communicate()


def comparable(record: SinkRecord | None) -> Any:
    """A record of ours in the form in which it is compared with Java's."""
    return None if record is None else _answered(json.loads(json.dumps(_described(record))))


def _described(record: SinkRecord) -> Answer:
    return {
        "topic": record.topic,
        "key_schema": describe(record.key_schema),
        "key": tagged(record.key_schema, record.key),
        "value_schema": describe(record.value_schema),
        "value": tagged(record.value_schema, record.value),
        "headers": [[h.key, describe(h.schema), tagged(h.schema, h.value)] for h in record.headers],
    }


def _answered(node: Answer | None) -> Any:
    if node is None:
        return None
    return (
        node["topic"],
        (_ordered(node["key_schema"]), plain(node["key"])),
        (_ordered(node["value_schema"]), plain(node["value"])),
        [(key, _ordered(schema), plain(value)) for key, schema, value in node["headers"]],
    )


def _ordered(schema: Answer | None) -> str:
    return json.dumps(schema, sort_keys=True)
