"""Our table of client settings against the settings that Java's clients define."""

from collections.abc import Callable

import pytest

from connect.kafka.clients.java_keys import RULES
from tests.support.java import JavaProgram

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
def java_keys(java_program: Callable[..., JavaProgram]) -> set[tuple[str, str]]:
    printed = java_program(KEYS, jars=["kafka-broker"]).run(*CLASSES)
    pairs = (line.split() for line in printed.splitlines())
    return {(CLASSES[kind], name) for kind, name in pairs}


def test_the_table_has_every_key_of_java_s_clients_and_no_other(java_keys: set[tuple[str, str]]) -> None:
    ours = {(kind, key) for kind, rules in RULES.items() for key in rules}
    assert ours == java_keys
