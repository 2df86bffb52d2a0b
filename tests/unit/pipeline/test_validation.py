"""Validation with plug-ins in a folder, as a user has them."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from connect import settings
from connect.pipeline.findings import Entry, Validation, definitions
from connect.pipeline.validation import validate
from connect.plugins import Plugins

WORKER = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.converters.LongConverter",
    "offset.storage.file.filename": "/tmp/offsets",
}
SOURCE = {"name": "lines", "connector.class": "FileStreamSource", "topic": "t", "file": "a.txt"}
SINK = {"name": "copy", "connector.class": "FileStreamSink", "topics": "t", "file": "b.txt"}

PLUGINS = '''
from connect import (
    ConfigError, Converter, Predicate, SinkConnector, SinkTask, SourceConnector, Transformation, settings
)
from connect.settings import ConfigValue, Recommender


class Broken(Recommender):
    def valid_values(self, name, config):
        raise RuntimeError("nobody knows")


class Units(Recommender):
    def valid_values(self, name, config):
        return ["ms", "s"]

    def visible(self, name, config):
        return config.get("mode") == "time"


def long_enough(name, value):
    if len(value.reveal()) < 30:
        raise ValueError(f"{value.reveal()} is too short.")


SETTINGS = settings.define(
    settings.String("url", importance="HIGH", group="Place", display_name="Address", dependents=["mode"], width="LONG",
                    doc="Where it is.", validator=settings.non_empty),
    settings.Password("password", default=None, group="Place", validator=long_enough),
    settings.String("mode", default="time", validator=settings.one_of("time", "space")),
    settings.String("unit", default="ms", recommender=Units()),
    settings.Int("batch.size", default=10),
    settings.String("task.part", default=None, internal=True),
)


class FineSink(SinkConnector):
    settings = SETTINGS


class BroughtAlongSink(FineSink):
    settings = SETTINGS.with_others(
        aliases={"address": "url", "batch.length": "batch.size", "pass.phrase": "password"},
        without_effect={"pool.*": "a task has one connection", "retries": settings.WithoutEffect("none", ("3",))},
    )


class WarningSink(FineSink):
    settings = SETTINGS.with_others(aliases={"how": "mode"})

    def validate(self, config):
        found = super().validate(config)
        next(value for value in found if value.name == "mode").warnings.append("is understood in part.")
        return found


class RaisingSink(FineSink):
    def validate(self, config):
        raise RuntimeError(f"cannot reach\\n the server with {config.get('password')}")


class ExitingSink(FineSink):
    def validate(self, config):
        raise SystemExit(3)


class ParsingSink(FineSink):
    def validate(self, config):
        self.settings.parse(config)
        raise ConfigError("mode", "does not go with this server.")


class OddSink(FineSink):
    def validate(self, config):
        return None


class SpyingSink(FineSink):
    def validate(self, config):
        values = super().validate(config)
        return values + [ConfigValue("password", config["password"], ["is as weak as " + config["password"]])]


class LackingSink(FineSink):
    needs = {"json": "python", "no_such_driver": "orders[driver]", "no_such_driver.of_it": "orders[driver]"}


class UnmadeSink(FineSink):
    def __init__(self):
        raise RuntimeError("no memory")


class RecommendingSource(SourceConnector):
    settings = settings.define(settings.String("a", default="", recommender=Broken()), settings.Int("b", default=1))


class Undeclared(SinkConnector):
    settings = {"url": "text"}


class Cut(Transformation):
    settings = settings.define(
        settings.Int("length", validator=settings.at_least(1)), settings.Password("salt", default=None)
    )

    def apply(self, record):
        return record


class Tall(Predicate):
    settings = settings.define(settings.Double("metres"))

    def test(self, record):
        return True


class Strict(Converter):
    settings = settings.define(
        settings.Boolean("strict"), settings.String("level", default="a", validator=settings.one_of("a"))
    )

    def to_connect_data(self, topic, data, headers=None): ...
    def from_connect_data(self, topic, schema, value, headers=None): ...
'''  # fmt: skip


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugins]:
    (tmp_path / "some_plugins.py").write_text(PLUGINS)
    (tmp_path / "dying_plugin.py").write_text(
        "from connect import SinkConnector\nraise SystemExit(1)\nclass Dying(SinkConnector): ...\n"
    )
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield Plugins.discover([tmp_path])
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def check(plugins: Plugins) -> Callable[..., Validation]:
    def run(config: dict[str, str], worker: dict[str, str] | None = None, **options: Any) -> Validation:
        found = validate(plugins, worker or WORKER, config, **options)
        # It travels over a pipe.
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Validation) == found
        assert found.error_count == len(found.errors())
        return found

    return run


def sink(name: str, **more: str) -> dict[str, str]:
    return {"name": "n", "connector.class": f"some_plugins.{name}", "topics": "t", "url": "x", **more}


def entry(found: Validation, key: str) -> Entry:
    (only,) = [entry for entry in found.entries if entry.value.name == key]
    return only


def at_fault(found: Validation) -> set[str]:
    return {key for key, _ in found.errors()}


Check = Callable[..., Validation]


@pytest.mark.parametrize("config", [SOURCE, SINK])
def test_a_good_configuration_has_nothing_to_remark(check: Check, config: dict[str, str]) -> None:
    found = check(config)
    assert found.errors() == found.warnings == found.worker_errors == found.worker_warnings == []
    assert found.ok
    assert found.kind == ("source" if config is SOURCE else "sink")
    assert found.connector_class == config["connector.class"]


def test_every_error_is_found_at_once(check: Check) -> None:
    found = check(
        {
            "name": "a\nb",
            "connector.class": "some_plugins.FineSink",
            "tasks.max": "0",
            "topics": "a",
            "topics.regex": "b",
            "mode": "both",
            "batch.size": "3k",
            "errors.tolerance": "most",
            "key.converter": "Nope",
            "value.converter": "some_plugins.Strict",
            "value.converter.level": "z",
            "header.converter": "some_plugins.Strict",
            "transforms": "cut,gone",
            "transforms.cut.type": "some_plugins.Cut",
            "transforms.cut.length": "0",
            "transforms.cut.predicate": "short",
            "predicates": "tall",
            "predicates.tall.type": "some_plugins.Tall",
            "predicates.tall.metres": "high",
            "consumer.override.fetch.min.bytes": "lots",
            "consumer.override.max.poll.records": "many",
        }
    )
    assert at_fault(found) == {
        *("name", "tasks.max", "topics.regex", "mode", "batch.size", "url", "errors.tolerance"),
        *("key.converter", "value.converter.level", "value.converter.strict", "header.converter"),
        *("transforms.gone.type", "transforms.cut.length", "transforms.cut.predicate", "predicates.tall.metres"),
        *("consumer.override.fetch.min.bytes", "consumer.override.max.poll.records"),
    }
    assert not found.ok


def test_an_empty_configuration_is_an_answer_too(check: Check) -> None:
    found = check({})
    assert (found.kind, found.connector_class) == (None, "")
    assert at_fault(found) == {"name", "connector.class"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("FileStreamSurce", "Did you mean FileStreamSource"),
        ("StringConverter", "is a converter"),
        ("dying_plugin.Dying", "SystemExit"),
        ("some_plugins.Cut", "is a transformation"),
    ],
)
def test_a_class_that_is_no_connector_is_one_error_and_the_rest_is_still_checked(
    check: Check, name: str, said: str
) -> None:
    found = check({"name": "n", "connector.class": name, "tasks.max": "x", "whatever": "1"})
    assert found.kind is None
    assert at_fault(found) == {"connector.class", "tasks.max"}
    assert said in entry(found, "connector.class").value.errors[0]
    assert found.warnings == []


def test_a_version_that_is_not_there_is_refused(check: Check) -> None:
    assert at_fault(check(SOURCE | {"connector.plugin.version": "[99,)"})) == {"connector.class"}
    assert at_fault(check(SOURCE | {"connector.plugin.version": "[1,2,3"})) == {"connector.class"}


# What plug-ins do wrong.


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("RaisingSink", "RaisingSink could not check the configuration: RuntimeError: cannot reach the server with"),
        ("ExitingSink", "SystemExit"),
        ("OddSink", "TypeError"),
        ("UnmadeSink", "no memory"),
        ("LackingSink", "LackingSink lacks packages. Install them: pip install 'orders[driver]'."),
        ("Undeclared", "Make it with connect.settings.define"),
    ],
)
def test_what_a_connector_does_wrong_is_one_error_of_its_class(check: Check, name: str, said: str) -> None:
    found = check(sink(name, password="p" * 30))
    assert at_fault(found) == {"connector.class"}
    assert said in entry(found, "connector.class").value.errors[0]
    assert found.kind == "sink"


def test_what_its_settings_say_is_shown_though_its_validation_failed(check: Check) -> None:
    found = check(sink("RaisingSink", mode="both"))
    assert at_fault(found) == {"connector.class", "mode"}
    assert entry(found, "url").value.value == "x"


def test_a_config_error_belongs_to_its_key(check: Check) -> None:
    assert at_fault(check(sink("ParsingSink"))) == {"mode"}
    assert check(sink("ParsingSink", mode="both")).errors() == [("mode", '"both" is not one of time, space.')]


def test_a_recommender_that_raises_is_an_error_of_its_key(check: Check) -> None:
    found = check({"name": "n", "connector.class": "some_plugins.RecommendingSource", "b": "x"})
    assert at_fault(found) == {"a", "b"}
    assert "RuntimeError: nobody knows" in entry(found, "a").value.errors[0]


# What the REST API shows.


def test_an_entry_has_the_shape_of_the_rest_api(check: Check) -> None:
    shown = msgspec.to_builtins(entry(check(sink("FineSink")), "url"))
    assert shown == {
        "definition": {
            "name": "url",
            "type": "STRING",
            "required": True,
            "default_value": None,
            "importance": "HIGH",
            "documentation": "Where it is.",
            "group": "Place",
            "width": "LONG",
            "display_name": "Address",
            "dependents": ["mode"],
            "order": 1,
            "listed": None,
        },
        "value": {"name": "url", "value": "x", "recommended_values": [], "errors": [], "visible": True},
    }


def test_recommendations_visibility_and_groups_are_shown(check: Check) -> None:
    found = check(sink("FineSink", mode="space"))
    unit = entry(found, "unit").value
    assert (unit.recommended_values, unit.visible, unit.value) == (["ms", "s"], False, "ms")
    assert found.groups[:2] == ["Common", "Transforms"]
    assert found.groups[-1] == "Place"
    assert entry(found, "batch.size").definition.default_value == "10"  # type: ignore[union-attr]
    assert not [entry for entry in found.entries if entry.value.name == "task.part"]


def test_prefixed_settings_are_shown_under_their_full_keys(check: Check) -> None:
    found = check(
        SOURCE
        | {
            "value.converter": "some_plugins.Strict",
            "value.converter.strict": "TRUE",
            "transforms": "cut",
            "transforms.cut.type": "some_plugins.Cut",
            "transforms.cut.length": "5",
        }
    )
    assert found.ok
    assert entry(found, "value.converter.strict").value.value == "true"
    assert entry(found, "transforms.cut.length").definition.group == "Transforms: cut"  # type: ignore[union-attr]
    assert [e.value.name for e in found.entries if e.value.name.startswith("transforms.")] == [
        f"transforms.cut.{key}" for key in ("type", "plugin.version", "predicate", "negate", "length", "salt")
    ]


# Secrets.


@pytest.mark.parametrize("name", ["FineSink", "RaisingSink", "SpyingSink"])
@pytest.mark.parametrize("password", ["hunter2hunter2", "hunter2" * 10])
def test_a_password_appears_nowhere(check: Check, name: str, password: str) -> None:
    more = {"transforms": "cut", "transforms.cut.type": "some_plugins.Cut", "transforms.cut.length": "1"}
    found = check(sink(name, password=password, **more, **{"transforms.cut.salt": "peppersalt"}))
    everything = msgspec.json.encode(found).decode()
    assert "hunter2" not in everything
    assert "peppersalt" not in everything
    assert "[hidden]" in everything


def test_what_came_from_a_config_provider_is_not_shown_either(check: Check) -> None:
    found = check(sink("FineSink", mode="top-secret-mode"), secret_keys=["mode"])
    assert at_fault(found) == {"mode"}
    assert "top-secret-mode" not in msgspec.json.encode(found).decode()


# Converters: a connector's own class brings its own settings.


def test_a_connector_without_converters_takes_the_workers(check: Check) -> None:
    worker = WORKER | {"value.converter": "some_plugins.Strict", "value.converter.strict": "true"}
    assert check(SOURCE, worker).ok
    # The worker's settings are not the connector's.
    assert at_fault(check(SOURCE | {"value.converter": "some_plugins.Strict"}, worker)) == {"value.converter.strict"}


def test_what_is_wrong_with_the_workers_converter_is_the_workers_error(check: Check) -> None:
    worker = WORKER | {"key.converter": "Nope", "value.converter": "some_plugins.Strict"}
    found = check(SOURCE, worker)
    assert found.errors() == []
    assert [key for key, _ in found.worker_errors] == ["key.converter", "value.converter.strict"]
    assert not found.ok


def test_no_converter_at_all_is_an_error(check: Check) -> None:
    worker = {key: value for key, value in WORKER.items() if key != "key.converter"}
    assert at_fault(check(SOURCE, worker)) == {"key.converter"}


def test_settings_of_a_converter_that_is_not_named_have_no_effect_and_that_is_said(check: Check) -> None:
    ((key, said),) = check(SOURCE | {"value.converter.schemas.enable": "false"}).warnings
    assert key == "value.converter.schemas.enable"
    assert "has no effect" in said


# Aliases.


def test_a_predicate_has_to_be_declared(check: Check) -> None:
    cut = {"transforms": "cut", "transforms.cut.type": "some_plugins.Cut", "transforms.cut.length": "5"}
    tall = {"predicates": "tall", "predicates.tall.type": "some_plugins.Tall", "predicates.tall.metres": "1.8"}
    used = SOURCE | cut | {"transforms.cut.predicate": "tall", "transforms.cut.negate": "true"}
    assert check(used | tall).ok
    assert at_fault(check(used)) == {"transforms.cut.predicate"}
    assert at_fault(check(used | tall | {"transforms.cut.negate": "maybe"})) == {"transforms.cut.negate"}
    assert at_fault(check(SOURCE | cut | {"transforms.cut.negate": "true"})) == {"transforms.cut.negate"}


def test_keys_of_an_alias_that_is_not_listed_are_named(check: Check) -> None:
    found = check(SOURCE | {"transforms.cut.type": "some_plugins.Cut"})
    assert found.ok
    assert "transforms" in dict(found.warnings)["transforms.cut.type"]


def test_a_transformation_is_not_a_predicate(check: Check) -> None:
    found = check(SOURCE | {"predicates": "p", "predicates.p.type": "some_plugins.Cut", "predicates.p.length": "1"})
    assert at_fault(found) == {"predicates.p.type"}


# Sinks.


def test_a_sink_needs_topics(check: Check) -> None:
    config = {key: value for key, value in SINK.items() if key != "topics"}
    assert at_fault(check(config)) == {"topics"}
    assert check(config | {"topics.regex": "t.*"}).ok


def test_a_sink_does_not_consume_its_own_dead_letters(check: Check) -> None:
    config = SINK | {"errors.deadletterqueue.topic.name": "orders-dlq", "errors.tolerance": "all"}
    assert at_fault(check(config | {"topics": "orders,orders-dlq"})) == {"topics"}
    del config["topics"]
    found = check(config | {"topics.regex": "orders.*"})
    assert at_fault(found) == {"topics.regex"}
    assert ("topics.regex", 'matches "orders-dlq"') in [(key, text[:20]) for key, text in found.errors()]
    assert check(config | {"topics.regex": "orders(?!-dlq$).*"}).ok
    assert check(config | {"topics.regex": "orders"}).ok  # of a whole name
    assert at_fault(check(config | {"topics.regex": "orders("})) == {"topics.regex"}


def test_a_dead_letter_topic_with_a_policy_that_stops_at_the_first_is_doubted(check: Check) -> None:
    dead = SINK | {"errors.deadletterqueue.topic.name": "dead"}
    assert [key for key, _ in check(dead).warnings] == ["errors.deadletterqueue.topic.name"]
    assert not at_fault(check(dead | {"errors.tolerance": "all"}))
    assert not check(dead | {"errors.tolerance": "all"}).warnings


# Clients.


def test_an_override_is_checked_for_the_client_that_the_connector_has(check: Check) -> None:
    override = {"producer.override.linger.ms": "soon", "consumer.override.fetch.min.bytes": "lots"}
    assert at_fault(check(SOURCE | override)) == {"producer.override.linger.ms"}
    assert at_fault(check(SINK | override)) == {"consumer.override.fetch.min.bytes"}


def test_a_wrong_client_setting_of_the_worker_is_the_workers_error(check: Check) -> None:
    worker = WORKER | {"producer.linger.ms": "soon", "producer.batch.size": "big", "producer.unheard.of": "1"}
    found = check(SOURCE, worker)
    assert found.errors() == found.warnings == []
    assert {key for key, _ in found.worker_errors} == {"producer.linger.ms", "producer.batch.size"}
    assert [key for key, _ in found.worker_warnings] == ["producer.unheard.of"]
    assert check(SINK, worker).ok


# Keys that nobody knows.


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("bach.size", "batch.size"),
        ("tasks.maxx", "tasks.max"),
        ("errors.tolerence", "errors.tolerance"),
        ("transforms.cut.lenght", "transforms.cut.length"),
    ],
)
def test_a_key_that_is_nearly_right_is_a_warning(check: Check, misspelt: str, meant: str) -> None:
    cut = {"transforms": "cut", "transforms.cut.type": "some_plugins.Cut", "transforms.cut.length": "5"}
    found = check(SOURCE | cut | {misspelt: "1"})
    assert found.warnings == [(misspelt, f"is not known. Did you mean {meant}?")]
    assert found.ok


def test_keys_of_another_project_are_known_and_those_without_effect_are_named(check: Check) -> None:
    config = {**sink("BroughtAlongSink", **{"batch.length": "3", "pool.max": "9", "retries": "3"}), "address": "x"}
    del config["url"]
    found = check(config)
    assert found.errors() == []
    assert found.warnings == [("pool.max", "has no effect: a task has one connection.")]
    assert found.said_at_start == ["pool.max"]
    assert (entry(found, "url").value.value, entry(found, "batch.size").value.value) == ("x", "3")


def test_an_error_is_at_the_key_that_was_written(check: Check) -> None:
    found = check(sink("BroughtAlongSink", **{"batch.length": "many"}))
    assert found.errors() == [("batch.length", '"many" is not a whole number.')]


@pytest.mark.promise("P8")
def test_a_password_under_another_name_is_no_less_secret(check: Check) -> None:
    found = check(sink("BroughtAlongSink", **{"pass.phrase": "too-short-by-far"}))
    assert "pass.phrase" in at_fault(found)
    assert "too-short-by-far" not in str(found)


@pytest.mark.promise("P8")
def test_who_shows_a_configuration_knows_the_other_names_of_passwords() -> None:
    declared = settings.define(
        settings.Password("password", default=None),
        settings.String("user", default=None),
        aliases={"phrase": "password", "login": "user"},
    )
    assert [(key.name, key.type) for key in definitions(declared)] == [
        ("password", "PASSWORD"),
        ("user", "STRING"),
        ("phrase", "PASSWORD"),
    ]


def test_a_warning_of_a_connector_is_shown_at_the_key_that_was_written(check: Check) -> None:
    found = check({**sink("WarningSink"), "how": "time"})
    assert found.warnings == [("how", "is understood in part.")]
    assert found.ok


def test_a_key_for_somebody_else_is_nobodys_business(check: Check) -> None:
    found = check(SOURCE | {"owner": "me", "producer.override.compression.type": "lz4", "task.files": "[]"})
    assert found.warnings == []


def test_topic_creation_is_checked_and_what_has_no_effect_is_a_warning() -> None:
    keys = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "0"}
    found = validate(Plugins.discover([]), WORKER, SOURCE | keys | {"topic.creation.big.partitions": "9"})
    assert [key for key, _ in found.errors()] == ["topic.creation.default.partitions"]
    assert [key for key, _ in found.warnings] == ["topic.creation.big.partitions"]
    assert "Topic Creation: default" in found.groups


def test_topic_creation_is_not_looked_at_where_the_worker_makes_no_topics() -> None:
    keys = {"topic.creation.default.partitions": "x", "topic.creation.default.cleanup.policy": "compact"}
    found = validate(Plugins.discover([]), WORKER | {"topic.creation.enable": "False"}, SOURCE | keys)
    assert found.ok
    assert [key for key, message in found.warnings if "topic.creation.enable=false" in message] == list(keys)


def test_topic_settings_in_topic_creation_are_no_unknown_keys() -> None:
    keys = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1"}
    found = validate(Plugins.discover([]), WORKER, SOURCE | keys | {"topic.creation.default.partition": "1"})
    assert found.ok
    assert found.warnings == []


def test_retry_topics_are_checked_with_what_stands_beside_them(check: Check) -> None:
    retry = SINK | {"errors.retry.topics": "5s,1m", "errors.tolerance": "all"}
    assert not at_fault(check(retry))
    assert not check(retry).warnings
    assert at_fault(check(retry | {"errors.retry.topics": "1m,5s"})) == {"errors.retry.topics"}
    assert at_fault(check(retry | {"errors.retry.topics": "soon"})) == {"errors.retry.topics"}
    assert at_fault(check(retry | {"name": "a name with blanks"})) == {"errors.retry.topics.prefix"}
    named = {"errors.retry.topics.prefix": "x", "errors.deadletterqueue.topic.name": "x-5s"}
    assert at_fault(check(retry | named)) == {"errors.retry.topics.prefix"}
    assert [key for key, _ in check(retry | {"errors.tolerance": "none"}).warnings] == ["errors.retry.topics"]
    alone = SINK | {"errors.retry.topics.prefix": "x"}
    assert [key for key, _ in check(alone).warnings] == ["errors.retry.topics.prefix"]


def test_a_password_inside_of_an_address_is_not_shown(check: Check) -> None:
    converter = {
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": "http://alice:wonderland@registry:8081,http://other:8081",
    }
    found = check(SINK | converter)
    assert found.ok
    shown = entry(found, "value.converter.schema.registry.url").value.value
    assert shown == "http://alice:[hidden]@registry:8081,http://other:8081"
    assert "wonderland" not in repr(found)
