"""Our table of client settings against the settings that Java's clients define."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, classpath
from connect.jvm.java import JavaNotFound, find_java
from connect.kafka._java_keys import RULES

KEYS = """
import org.apache.kafka.common.config.ConfigDef;
public class Keys {
    public static void main(String[] args) throws Exception {
        for (String kind : args) {
            Class<?> config = Class.forName("org.apache.kafka.clients." + kind);
            ConfigDef definition = (ConfigDef) config.getMethod("configDef").invoke(null);
            for (String name : definition.names()) System.out.println(kind + " " + name);
        }
    }
}
"""
CLASSES = {
    "producer.ProducerConfig": "producer",
    "consumer.ConsumerConfig": "consumer",
    "admin.AdminClientConfig": "admin",
}


@pytest.fixture(scope="module")
def java_keys(
    tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]
) -> set[tuple[str, str]]:
    try:
        java, jars = find_java(), classpath("kafka-broker")
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Kafka's Java clients", error)
    source: Path = tmp_path_factory.mktemp("keys") / "Keys.java"
    source.write_text(KEYS)
    command = [str(java.path), "-cp", jars, str(source), *CLASSES]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    pairs = (line.split() for line in printed.splitlines())
    return {(CLASSES[kind], name) for kind, name in pairs}


def test_the_table_has_every_key_of_java_s_clients_and_no_other(java_keys: set[tuple[str, str]]) -> None:
    ours = {(kind, key) for kind, rules in RULES.items() for key in rules}
    assert ours == java_keys
