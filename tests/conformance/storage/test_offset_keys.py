"""The keys and values of source offsets, byte for byte against Kafka Connect's own JsonConverter."""

import base64
import random
from collections.abc import Callable
from typing import Any

import pytest

from connect.storage.offsets import key, to_json
from tests.support.java import JavaProgram

# Reads partitions, one a line: connector, then name, kind and text of each entry, all base64.
# Answers with the key and with the value of an offset that has the same entries, as a worker serialises them.
ORACLE = """
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.connect.json.JsonConverter;

public class Keys {
    static String text(String encoded) {
        return new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
    }

    static Object value(String kind, String encoded) {
        switch (kind) {
            case "str": return text(encoded);
            case "int": return Long.valueOf(text(encoded));
            case "float": return Double.valueOf(text(encoded));
            case "bool": return Boolean.valueOf(text(encoded));
            case "bytes": return Base64.getDecoder().decode(encoded);
            default: return null;
        }
    }

    public static void main(String[] args) throws IOException {
        JsonConverter json = new JsonConverter();
        json.configure(Map.of("schemas.enable", "false"), true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line; (line = in.readLine()) != null; ) {
            String[] fields = line.split("\\t", -1);
            Map<String, Object> partition = new LinkedHashMap<>();
            for (int i = 1; i < fields.length; i += 3)
                partition.put(text(fields[i]), value(fields[i + 1], fields[i + 2]));
            byte[] key = json.fromConnectData(text(fields[0]), null, Arrays.asList(text(fields[0]), partition));
            byte[] value = json.fromConnectData(text(fields[0]), null, partition);
            Base64.Encoder encoder = Base64.getEncoder();
            System.out.println(encoder.encodeToString(key) + "\\t" + encoder.encodeToString(value));
        }
    }
}
"""

CONNECTORS = ["orders", 'a"b', "ü/\\", "日本"]
VALUES: list[Any] = [
    *("", "a.txt", "/var/log/ä\n\t\r\b\f", "\x00\x1f\x7f", "\\u001f", "\u2028\ufeff", "😀", "</script>", '"'),
    *(0, 1, -1, 2**63 - 1, -(2**63), True, False, None),
    *(0.0, -0.0, 1.5, 1e7, 1e-4, 1e21, 123456789.125, float("nan"), float("inf"), float("-inf")),
    *(b"", b"\x00\xff", b"abc"),
]


def field(value: Any) -> str:
    content = value if isinstance(value, bytes) else str(value).encode()
    if isinstance(value, float):
        content = content.replace(b"inf", b"Infinity").replace(b"nan", b"NaN")
    return f"{type(value).__name__}\t{base64.b64encode(content).decode()}"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.quick
def test_keys_and_values_are_the_bytes_that_java_writes(java_program: Callable[..., JavaProgram], seed: int) -> None:
    chance = random.Random(seed)
    partitions = [{"filename": value} for value in VALUES]
    partitions += [
        {f"{chance.choice(CONNECTORS)}{n}": chance.choice(VALUES) for n in range(chance.randrange(5))}
        for _ in range(200)
    ]
    cases = [(chance.choice(CONNECTORS), partition) for partition in partitions]
    asked = "".join(
        "\t".join([encoded(connector), *(f"{encoded(name)}\t{field(value)}" for name, value in partition.items())])
        + "\n"
        for connector, partition in cases
    )
    said = java_program(ORACLE, jars=["kafka-connect"]).run(asked=asked)
    answers = [tuple(map(base64.b64decode, line.split("\t"))) for line in said.splitlines()]
    assert [(key(*case), to_json(case[1]).encode()) for case in cases] == answers
