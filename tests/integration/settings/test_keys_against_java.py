"""Our tables of keys, against the ConfigDefs of Kafka Connect: names, types, defaults, and what forms show."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from connect.settings import Definition
from connect.settings.connector_keys import SINK, SOURCE
from connect.settings.definition import text
from connect.settings.isolation_keys import IsolationOptions, JavaProcessOptions
from connect.settings.lineage_keys import LineageOptions
from connect.settings.metrics_keys import PrometheusOptions
from connect.settings.opentelemetry_keys import OpenTelemetryOptions
from connect.settings.recovery_keys import RecoveryOptions
from connect.settings.worker_keys import DISTRIBUTED, PREFIXES, STANDALONE, TapOptions
from tests.support.java import JavaProgram

# One line of JSON for each definition.
PROGRAM = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.runtime.*;
import org.apache.kafka.connect.runtime.distributed.*;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
public class Keys {
    static void show(ConfigDef definition) throws Exception {
        var all = new LinkedHashMap<String, Object>();
        for (ConfigDef.ConfigKey key : definition.configKeys().values()) {
            var one = new LinkedHashMap<String, Object>();
            one.put("type", key.type.name());
            one.put("required", !key.hasDefault());
            one.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            one.put("importance", key.importance.name());
            one.put("group", key.group);
            one.put("order", key.orderInGroup);
            one.put("width", key.width.name());
            one.put("display_name", key.displayName);
            all.put(key.name, one);
        }
        System.out.println(new ObjectMapper().writeValueAsString(all));
    }
    public static void main(String[] args) throws Exception {
        show(SourceConnectorConfig.configDef());
        show(SinkConnectorConfig.configDef());
        var standalone = StandaloneConfig.class.getDeclaredField("CONFIG");
        standalone.setAccessible(true);
        show((ConfigDef) standalone.get(null));
        var distributed = DistributedConfig.class.getDeclaredMethod("config", Crypto.class);
        distributed.setAccessible(true);
        show((ConfigDef) distributed.invoke(null, Crypto.SYSTEM));
    }
}
"""


# What only ours has.
OURS = {
    *("errors.deadletterqueue.topic.partitions", "errors.put.tolerance", "errors.retry.topics"),
    *("errors.retry.topics.prefix", "errors.retry.topics.partitions", "errors.retry.topics.replication.factor"),
    *("errors.retry.topics.keep.order", "engine", "engine.default", "connector.language"),
    *("log.level", "log.format", "rest.mask.secrets", "rest.forwarded.allow.ips", "rest.allowed.hosts"),
    *("metrics.prometheus.enable", "metrics.prometheus.names", "metrics.lag.interval.ms", "metrics.lag.samples"),
    *("config.history.versions", "config.history.topic"),
} | {
    setting.name
    for options in (
        *(IsolationOptions, JavaProcessOptions, LineageOptions),
        *(OpenTelemetryOptions, PrometheusOptions, RecoveryOptions, TapOptions),
    )
    for setting in options.definition()
}


@pytest.fixture(scope="module")
def java(java_program: Callable[..., JavaProgram]) -> dict[str, dict[str, Any]]:
    said = java_program(PROGRAM, jars=["kafka-connect"]).run()
    names = ["source", "sink", "standalone", "distributed"]
    return dict(zip(names, map(json.loads, said.splitlines()), strict=True))


def ours(definition: Definition) -> dict[str, Any]:
    return {
        setting.name: {
            "type": setting.kind.value,
            "required": setting.required,
            "default": None if setting.required else text(setting.default),
            "importance": setting.importance.value,
            "group": setting.group,
            "order": -1 if setting.order is None else setting.order,
            "width": setting.width,
            "display_name": setting.display_name or setting.name,
        }
        for setting in definition
        if setting.name not in OURS and not setting.name.startswith("rest.security.")
    }


@pytest.mark.parametrize(
    ("kind", "definition"),
    [("source", SOURCE), ("sink", SINK), ("standalone", STANDALONE), ("distributed", DISTRIBUTED)],
)
def test_our_keys_are_those_of_java(java: dict[str, dict[str, Any]], kind: str, definition: Definition) -> None:
    # Security settings are the clients' business, and known by their prefix.
    theirs = {key: said for key, said in java[kind].items() if not key.startswith(("ssl.", "sasl."))}
    mine = ours(definition)
    if kind == "source":  # there are no dead letters of sources in Kafka Connect
        mine = {key: said for key, said in mine.items() if not key.startswith("errors.deadletterqueue.")}
    assert mine.keys() == theirs.keys()
    assert {key: said for key, said in mine.items() if said != theirs[key]} == {}
    assert {key for key in java[kind].keys() - theirs.keys() if not key.startswith(PREFIXES)} == set()
