import pytest

from connect import ConfigError, PluginNotFoundError
from connect.data.batch import SinkBatch, SourceBatch
from connect.data.values import Values
from connect.pipeline import sink_chain, source_chain
from connect.pipeline.build import converter_config
from connect.plugins import Plugins

PLUGINS = Plugins.discover()
WORKER = {"key.converter": "StringConverter", "value.converter": "StringConverter"}


def no_pause(seconds: float) -> None:
    raise AssertionError("there is nothing to wait for")


def test_a_sink_chain_makes_values_of_bytes_with_the_connectors_converter_before_the_workers() -> None:
    chain = sink_chain(PLUGINS, WORKER, {"value.converter": "LongConverter"}, no_pause)
    batch = SinkBatch("t", Values.raw([b"\0" * 7 + b"\x05"]), offsets=[0], keys=Values.raw([b"k"]))
    (record,) = chain.run(batch).records()
    assert (record.key, record.value) == ("k", 5)


def test_a_source_chain_makes_bytes_of_values() -> None:
    chain = source_chain(PLUGINS, WORKER, {}, no_pause)
    assert chain.run(SourceBatch("t", Values(["a"]))).values.to_list() == [b"a"]


def test_a_connectors_own_converter_brings_its_own_settings_and_no_other_does() -> None:
    worker = {"value.converter": "W", "value.converter.a": "1"}
    assert converter_config(worker, {"value.converter.a": "2"}, "value.converter") == ("W", {"a": "1"})
    assert converter_config(worker, {"value.converter": "C", "value.converter.b": "2"}, "value.converter") == (
        "C",
        {"b": "2"},
    )
    assert converter_config({}, {}, "header.converter", "D") == ("D", {})
    with pytest.raises(ConfigError, match=r'key "key.converter"'):
        converter_config({}, {}, "key.converter")


def test_blanks_around_the_name_of_a_class_are_no_part_of_it() -> None:
    worker = {"key.converter": "StringConverter ", "value.converter": " StringConverter\t"}
    steps = {
        "transforms": " drop , cast ",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter ",
        "transforms.drop.predicate": "tombstones ",
        "predicates": "tombstones ",
        "predicates.tombstones.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone ",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value ",
        "transforms.cast.spec": "int64 ",
        "value.converter": "LongConverter ",
        "value.converter.plugin.version": "latest ",
        "header.converter": "SimpleHeaderConverter ",
    }
    chain = source_chain(PLUGINS, worker, steps, no_pause)
    assert chain.run(SourceBatch("t", Values(["5", None]))).values.to_list() == [b"\0" * 7 + b"\x05"]


def test_a_converter_of_another_version_is_not_taken() -> None:
    with pytest.raises(PluginNotFoundError, match="not in"):
        sink_chain(PLUGINS, {**WORKER, "value.converter.plugin.version": "[99,)"}, {}, no_pause)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"transforms": "a"}, "transforms.a.type"),
        ({"errors.tolerance": "most"}, "errors.tolerance"),
    ],
)
def test_a_wrong_key_is_named(config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as raised:
        source_chain(PLUGINS, WORKER, config, no_pause)
    assert raised.value.key == key
