"""The conformance suite finds what it is there to find: each check fails for a plug-in that breaks its rule."""

import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import hypothesis
import pytest

from connect import (
    Batch,
    ConnectError,
    DataError,
    Offsets,
    Schema,
    SchemaAndValue,
    SinkBatch,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    TopicPartition,
    Transformation,
    settings,
)
from connect.api.converter import Converter
from connect.settings import ConfigValue
from connect.testing.conformance import (
    ConverterConformance,
    SinkConformance,
    SourceConformance,
    TransformationConformance,
)

SETTINGS = settings.define(
    settings.String("topic", doc="Where things go.", validator=settings.non_empty),
    settings.Password("api.token", default=None, doc="Opens the source."),
)


# A source that conforms, its suite, and what breaks it.


class ListTask(SourceTask):
    settings = SETTINGS
    things: ClassVar[list[int]]

    def start(self, config: Mapping[str, str]) -> None:
        self.topic = config["topic"]
        stored = self.context.offset({"list": "all"})
        self.next = stored["next"] if stored else 0

    def poll(self) -> list[SourceRecord] | None:
        rows = range(self.next, min(self.next + 50, len(self.things)))
        self.next = rows.stop
        return [SourceRecord(self.topic, self.things[n], None, None, None, {"list": "all"}, self.at(n)) for n in rows]

    def at(self, row: int) -> dict[str, Any]:
        return {"next": row + 1}


class ListSource(SourceConnector):
    settings = SETTINGS
    task = ListTask


class ListSuite(SourceConformance):
    connector = ListSource
    plenty = 100

    def __init__(self, connector: type[SourceConnector], tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        task: Any = connector.task
        self.things: list[int] = []
        self.connector = type("Fresh", (connector,), {"task": type("Task", (task,), {"things": self.things})})  # type: ignore[misc]

    def config(self) -> dict[str, str]:
        return {"topic": "t", "api.token": "hunter2hunter2"}

    def value(self, number: int) -> int:
        return number

    def produce(self, first: int, count: int) -> None:
        self.things += range(first, first + count)


def with_task(**members: Any) -> type[SourceConnector]:
    return type("Broken", (ListSource,), {"task": type("Task", (ListTask,), members)})


def with_settings(*declared: settings.Setting) -> type[SourceConnector]:
    return type("Broken", (ListSource,), {"settings": SETTINGS | settings.define(*declared)})


def with_choices(choices: Any) -> type[SourceConnector]:
    listed = settings.String("table", default="", doc="A table.", listed=settings.Listed.BY_CONNECTOR)
    return type("Listing", (with_settings(listed),), {"choices": choices})


def everything_at_once(task: Any) -> list[SourceRecord]:
    found: list[SourceRecord] = []
    while more := ListTask.poll(task):
        found += more
    return found


def deaf(task: Any) -> list[SourceRecord] | None:
    found = ListTask.poll(task)
    if not found:
        threading.Event().wait(3)
    return found


def telling(task: Any, config: Mapping[str, str]) -> None:
    logging.getLogger(__name__).debug("connecting with %s", config)
    ListTask.start(task, config)


def raising_secrets(task: Any, config: Mapping[str, str]) -> None:
    ListTask.start(task, config)
    if config["api.token"] != "hunter2hunter2":
        raise ConnectError(f"{config['api.token']} is wrong.")


def strict(connector: Any, config: Mapping[str, str]) -> list[ConfigValue]:
    return [ConfigValue(name, value) for name, value in connector.settings.parse(config).items()]


def one_too_many(connector: Any, max_tasks: int) -> list[dict[str, str]]:
    return [dict(connector.config)] * (max_tasks + 1)


def only_once(task: Any, config: Mapping[str, str]) -> None:
    if "used" in vars(type(task)):
        raise ConnectError("somebody has started before.")
    type(task).used = True
    ListTask.start(task, config)


class PollTask(ListTask):
    """Its offsets are good after a whole poll, and of each record alone they say nothing."""

    def poll(self) -> list[SourceRecord] | None:
        found = ListTask.poll(self) or []
        return [record.replace(source_offset=self.at(self.next - 1)) for record in found]


class PollSuite(ListSuite):
    every_offset_resumes = False


def with_polls(**members: Any) -> type[SourceConnector]:
    return type("Broken", (ListSource,), {"task": type("Task", (PollTask,), members)})


BROKEN_SOURCES: list[tuple[str, type[SourceConnector]]] = [
    ("each_offset_says_where_to_go_on", with_task(at=lambda task, row: {"next": row})),
    ("a_crash_loses_nothing", with_task(at=lambda task, row: {"next": row + 5})),
    ("a_restart_goes_on_from_stored_offsets", with_task(at=lambda task, row: {"next": 0})),
    ("everything_is_read_once", with_task(poll=lambda task: (ListTask.poll(task) or [None])[1:])),
    (
        "what_comes_while_it_runs_is_read",
        with_task(start=lambda t, c: (ListTask.start(t, c), setattr(t, "things", [*t.things]))),
    ),
    ("a_poll_is_bounded", with_task(poll=everything_at_once)),
    ("a_poll_that_waits_ends_when_the_task_is_to_stop", with_task(poll=deaf)),
    ("secrets_show_nowhere", with_task(start=telling)),
    ("secrets_show_nowhere", with_task(start=raising_secrets)),
    ("validate_never_raises", type("Broken", (ListSource,), {"validate": strict})),
    ("task_configs_are_texts_and_at_most_tasks_max", type("Broken", (ListSource,), {"task_configs": one_too_many})),
    ("start_and_stop_work_twice", with_task(start=only_once)),
    ("every_setting_is_documented", with_settings(settings.Int("some.size", default=1))),
    ("settings_are_named_in_kafkas_spelling", with_settings(settings.Int("someSize", default=1, doc="A size."))),
    (
        "defaults_pass_their_own_validators",
        with_settings(settings.Int("n", default=0, doc="N.", validator=settings.at_least(1))),
    ),
    ("defaults_pass_their_own_validators", with_settings(settings.Int("n", default="1", doc="N."))),
    ("dependents_are_settings", with_settings(settings.Int("n", default=1, doc="N.", dependents=["m"]))),
    (
        "required_settings_are_asked_for",
        type("B", (ListSource,), {"validate": lambda self, c: [ConfigValue("topic"), ConfigValue("api.token")]}),
    ),
    ("listed_values_are_texts", with_choices(lambda self, key, config: None)),
    ("listed_values_are_texts", with_choices(lambda self, key, config: [1])),
    ("listed_values_are_texts", with_choices(lambda self, key, config: [config["topic"]])),  # it may be missing
    ("the_configuration_of_this_suite_is_valid", with_settings(settings.Int("n", doc="Nobody gives it."))),
]


def checks(suite: type[Any]) -> list[str]:
    return [name.removeprefix("test_") for name in dir(suite) if name.startswith("test_")]


@pytest.mark.parametrize("check", checks(ListSuite))
def test_a_good_source_passes(check: str, tmp_path: Path) -> None:
    getattr(ListSuite(ListSource, tmp_path), f"test_{check}")()


def test_a_source_that_lists_values_passes(tmp_path: Path) -> None:
    def choices(_: Any, key: str, config: Mapping[str, str]) -> Iterator[str]:
        if "topic" not in config:
            raise ConnectError("Nothing is reached without a topic.")
        return map(str, itertools.count())

    ListSuite(with_choices(choices), tmp_path).test_listed_values_are_texts()


@pytest.mark.parametrize(("check", "broken"), BROKEN_SOURCES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_source_that_breaks_a_rule_fails_its_check(check: str, broken: type[SourceConnector], tmp_path: Path) -> None:
    suite = ListSuite(broken, tmp_path)
    suite.stop_within = 0.2  # type: ignore[misc]  # what never comes is not waited for
    with pytest.raises((Exception, pytest.fail.Exception)) as raised:
        getattr(suite, f"test_{check}")()
    assert "hunter2" not in str(raised.value)


def test_a_source_whose_polls_only_say_where_to_go_on_passes_where_it_says_so(tmp_path: Path) -> None:
    PollSuite(with_polls(), tmp_path).test_each_offset_says_where_to_go_on()
    strict = ListSuite(with_polls(), tmp_path)
    strict.stop_within = 0.2  # type: ignore[misc]
    with pytest.raises(AssertionError, match="6 records were wanted"):
        strict.test_each_offset_says_where_to_go_on()


@pytest.mark.parametrize("wrong", [-1, 3, 8])
def test_it_is_found_out_where_they_do_not(tmp_path: Path, wrong: int) -> None:
    suite = PollSuite(with_polls(at=lambda task, row: {"next": max(0, row + wrong)}), tmp_path)
    suite.stop_within = 0.2  # type: ignore[misc]
    with pytest.raises(AssertionError):
        suite.test_each_offset_says_where_to_go_on()


# The same for sinks.


class ListSinkTask(SinkTask):
    rows: ClassVar[list[Any]]
    ledger: ClassVar[dict[TopicPartition, int]]

    def start(self, config: Mapping[str, str]) -> None:
        self.buffer: list[SinkRecord] = []

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        return {p: self.ledger[p] for p in partitions if p in self.ledger}

    def put(self, batch: SinkBatch) -> None:
        self.buffer += batch

    def flush(self, offsets: Offsets) -> None:
        self.rows += [record.value for record in self.buffer]
        for record in self.buffer:
            self.ledger[TopicPartition(record.topic, record.partition)] = record.offset + 1
        self.buffer = []

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.buffer = [r for r in self.buffer if TopicPartition(r.topic, r.partition) not in partitions]


class ListSink(SinkConnector):
    task = ListSinkTask


class ListSinkSuite(SinkConformance):
    def __init__(self, connector: type[SinkConnector], tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        task: Any = connector.task
        self.rows: list[Any] = []
        members = {"rows": self.rows, "ledger": {}}
        self.connector = type("Fresh", (connector,), {"task": type("Task", (task,), members)})  # type: ignore[misc]

    def config(self) -> dict[str, str]:
        return {}

    def value(self, number: int) -> int:
        return number

    def written(self) -> list[Any]:
        return self.rows


def sink_with(**members: Any) -> type[SinkConnector]:
    return type("Broken", (ListSink,), {"task": type("Task", (ListSinkTask,), members)})


def promising(task: Any, offsets: Offsets) -> Offsets:
    ListSinkTask.flush(task, offsets)
    return {place: offset + 1 for place, offset in offsets.items()}


def not_empty(task: Any, batch: SinkBatch) -> None:
    assert batch.values[0] is not None
    ListSinkTask.put(task, batch)


def endless(task: Any, offsets: Offsets) -> None:
    threading.Event().wait(3)


def writing_at_close(task: Any, partitions: Sequence[TopicPartition]) -> None:
    task.rows.append("late")


BROKEN_SINKS: list[tuple[str, type[SinkConnector]]] = [
    ("what_is_committed_is_in_the_target", sink_with(flush=lambda task, offsets: None)),
    ("a_stop_makes_everything_durable", sink_with(pre_commit=lambda task, offsets: {})),
    ("a_restart_goes_on", sink_with(open=lambda task, partitions: dict.fromkeys(partitions, 0))),
    ("a_record_that_comes_again_is_harmless_or_declared", sink_with(open=lambda task, partitions: None)),
    ("empty_batches_do_no_harm", sink_with(put=not_empty)),
    ("pre_commit_promises_nothing_that_was_not_put", sink_with(pre_commit=promising)),
    ("partitions_come_and_go", sink_with(close=writing_at_close)),
    ("partitions_that_were_lost_come_back", sink_with(close=writing_at_close)),
    ("a_task_with_work_at_hand_stops_in_time", sink_with(flush=endless)),
]


@pytest.mark.parametrize("check", checks(ListSinkSuite))
def test_a_good_sink_passes(check: str, tmp_path: Path) -> None:
    getattr(ListSinkSuite(ListSink, tmp_path), f"test_{check}")()


def test_the_order_of_fields_in_the_target_does_not_count(tmp_path: Path) -> None:
    class Suite(ListSinkSuite):
        def value(self, number: int) -> Any:
            return {"id": number, "name": "x"}

        def written(self) -> list[Any]:
            return [dict(reversed(row.items())) for row in self.rows]

    Suite(ListSink, tmp_path).test_what_is_committed_is_in_the_target()


@pytest.mark.parametrize(("check", "broken"), BROKEN_SINKS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_sink_that_breaks_a_rule_fails_its_check(check: str, broken: type[SinkConnector], tmp_path: Path) -> None:
    suite = ListSinkSuite(broken, tmp_path)
    suite.stop_within = 0.5  # type: ignore[misc]
    with pytest.raises((AssertionError, IndexError)):
        getattr(suite, f"test_{check}")()


# Transformations.


@pytest.fixture
def _no_shrinking() -> Iterator[None]:
    """The first example that fails will do, and it is the same one each time."""
    before = hypothesis.settings.get_current_profile_name()
    hypothesis.settings.register_profile("no shrinking", phases=[hypothesis.Phase.generate], derandomize=True)
    hypothesis.settings.load_profile("no shrinking")
    yield
    hypothesis.settings.load_profile(before)


class Upper(Transformation):
    """Texts in capitals, the rest dropped."""

    pure = True

    def apply(self, record: Any) -> Any:
        if isinstance(record.value, list):
            raise DataError("no lists.")
        return record.replace(value=record.value.upper()) if isinstance(record.value, str) else None


def forgetful(transformation: Any, batch: Batch[Any]) -> Batch[Any]:
    return batch.with_records([record if isinstance(record.value, str) else None for record in batch])


def lenient(transformation: Any, batch: Batch[Any]) -> Batch[Any]:
    return batch.with_records([None if isinstance(r.value, list) else Upper.apply(transformation, r) for r in batch])


def backwards(transformation: Any, batch: Batch[Any]) -> Batch[Any]:
    return batch[::-1]


def mutating(transformation: Any, record: Any) -> Any:
    if isinstance(record.value, dict):
        record.value["seen"] = True
    return record


def counting(transformation: Any, record: Any) -> Any:
    transformation.count = getattr(transformation, "count", 0) + 1
    return record.replace(value=transformation.count)


BROKEN_TRANSFORMATIONS: list[tuple[str, Callable[..., Any], str]] = [
    ("a_batch_gives_what_its_records_give", forgetful, "apply_batch"),
    ("a_batch_gives_what_its_records_give", lenient, "apply_batch"),
    ("the_order_is_kept_and_a_record_gives_at_most_one", backwards, "apply_batch"),
    ("the_input_stays_as_it_was", mutating, "apply"),
    ("a_pure_one_depends_on_nothing_but_the_record", counting, "apply"),
]


class TestUpper(TransformationConformance):
    transformation = Upper


@pytest.mark.usefixtures("_no_shrinking")
@pytest.mark.parametrize(("check", "broken", "method"), BROKEN_TRANSFORMATIONS)
def test_a_transformation_that_breaks_a_rule_fails_its_check(check: str, broken: Any, method: str) -> None:
    suite = TestUpper()
    suite.transformation = type("Broken", (Upper,), {method: broken})  # type: ignore[misc]
    with pytest.raises(AssertionError):
        getattr(suite, f"test_{check}")()


# Converters.


class Hex(Converter):
    def to_connect_data(self, topic: str, data: bytes | None, headers: Any = None) -> SchemaAndValue:
        try:
            return SchemaAndValue(None, None if data is None else int(data, 16))
        except ValueError as error:
            raise DataError("no hexadecimal number.") from error

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        if value is None:
            return None
        if not isinstance(value, int):
            raise DataError("no whole number.")
        return b"%x" % value


class HexSuite(ConverterConformance):
    def values(self) -> Any:
        from hypothesis import strategies as st

        return st.tuples(st.none(), st.integers(0, 1000))


class TestHex(HexSuite):
    converter = Hex


@pytest.mark.usefixtures("_no_shrinking")
@pytest.mark.parametrize(
    ("check", "members"),
    [
        (
            "a_column_is_read_as_its_rows_are",
            {
                "to_connect_batch": lambda self, topics, data: Converter.to_connect_batch(
                    self, topics, [b"1" for _ in data]
                )
            },
        ),
        (
            "a_column_is_written_as_its_rows_are",
            {"from_connect_batch": lambda self, topics, values: [b"1" for _ in values]},
        ),
        (
            "bytes_it_cannot_read_raise_data_error_only",
            {"to_connect_data": lambda self, topic, data: SchemaAndValue(None, int(data, 16))},
        ),
        (
            "values_it_cannot_write_raise_data_error_only",
            {"from_connect_data": lambda self, topic, schema, value: b"%x" % value},
        ),
    ],
)
def test_a_converter_that_breaks_a_rule_fails_its_check(check: str, members: dict[str, Any]) -> None:
    suite = HexSuite()
    suite.converter = type("Broken", (Hex,), members)  # type: ignore[misc]
    with pytest.raises((AssertionError, ValueError, TypeError)):
        getattr(suite, f"test_{check}")()


@pytest.mark.usefixtures("_no_shrinking")
@pytest.mark.parametrize(
    ("check", "members"),
    [
        ("null_is_taken_both_ways", {"to_connect_data": lambda self, topic, data: SchemaAndValue(None, int(data, 16))}),
        ("what_is_written_is_read", {"from_connect_data": lambda self, topic, schema, value: b"%x" % (value & 0xFF)}),
    ],
)
def test_a_converter_that_loses_values_fails_its_check(check: str, members: dict[str, Any]) -> None:
    suite = HexSuite()
    suite.converter = type("Broken", (Hex,), members)  # type: ignore[misc]
    with pytest.raises((AssertionError, TypeError)):
        getattr(suite, f"test_{check}")(is_key=False)
