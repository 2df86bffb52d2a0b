"""The values of a key: who lists them, and what is said where nobody can."""

from collections.abc import Mapping
from typing import Any

import pytest

from connect.errors import ConnectError, PluginNotFoundError
from connect.herder import choices
from connect.herder.choices import MOST, Choices
from connect.kafka.admin.answers import AdminError
from connect.pipeline.error_kinds import ErrorKind
from connect.pipeline.findings import Entry, KeyDefinition, KeyValue, Validation
from connect.plugins import PluginKind, PluginRef
from connect.settings import Listed
from connect.settings.resolver import Resolved, Unresolved
from connect.worker import messages
from connect.worker.hosts import ConnectorCallError

CONFIG = {"connector.class": "Orders", "user": "ada", "password": "hunter22"}


def key(name: str, kind: str = "STRING", listed: Listed | None = None) -> KeyDefinition:
    return KeyDefinition(name, kind, False, None, "HIGH", "", None, "NONE", name, [], -1, listed)


KEYS = [
    key("table", listed=Listed.BY_CONNECTOR),
    key("topics", listed=Listed.TOPICS),
    key("password", "PASSWORD"),
    key("mode"),
]


class Hosts:
    """Knows the keys above. The connector lists what `found` says, or raises it."""

    def __init__(self) -> None:
        self.found: messages.Listed | Exception = messages.Listed(["a", "b"])
        self.asked: list[messages.ListChoices] = []

    def call(self, *_: object) -> list[KeyDefinition]:
        return KEYS

    def call_apart(self, _: PluginRef, request: messages.ListChoices, *__: object) -> messages.Listed:
        self.asked.append(request)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Plugins:
    target = "orders:Orders"

    def find(self, _: object, name: str, *__: object) -> PluginRef:
        if name != "Orders":
            raise PluginNotFoundError(f"There is no {name}.")
        return PluginRef(name=name, kind=PluginKind.SINK, target=self.target)


class Worker:
    def __init__(self) -> None:
        self.raw = {"config.storage.topic": "configs", "offset.storage.topic": "offsets"}
        self.plugins, self.hosts = Plugins(), Hosts()
        self.given: dict[str, str] = {}
        self.missing: tuple[Unresolved, ...] = ()

    def looked_up(self, config: Mapping[str, str]) -> Resolved:
        return Resolved({**config, **self.given}, frozenset(self.given), self.missing)


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture(autouse=True)
def recommended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What validation recommends for every key."""
    values: list[str] = []

    def validate(*_: object) -> Validation:
        return Validation(
            "Orders", "sink", [Entry(each, KeyValue(each.name, None, values)) for each in KEYS], [], [], []
        )

    monkeypatch.setattr(choices.checks, "validate", validate)
    return values


class Topics:
    """An admin client for a cluster with these topics."""

    names: Any = ("b", "a", "__consumer_offsets", "configs", "offsets", "configs-history")

    def __init__(self, _: object) -> None: ...

    def topics(self) -> dict[str, list[int]]:
        if isinstance(self.names, Exception):
            raise self.names
        return {name: [0] for name in self.names}

    def close(self) -> None: ...


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> type[Topics]:
    made = type("Made", (Topics,), {})
    monkeypatch.setattr("connect.kafka.admin.client.Admin", made)
    return made


def listed(worker: Any, name: str, config: Mapping[str, str] = CONFIG) -> Choices:
    policy: Any = None
    return choices.choices(worker, policy, name, config)


def test_a_connector_lists_what_its_system_has(worker: Worker) -> None:
    assert listed(worker, "table") == Choices(["a", "b"])
    (asked,) = worker.hosts.asked
    assert (asked.key, asked.config, asked.most) == ("table", CONFIG, MOST)
    assert asked.secrets == ["hunter22"]
    worker.hosts.found = messages.Listed(["a"], truncated=True)
    assert listed(worker, "table") == Choices(["a"], truncated=True)


def test_topics_are_those_of_the_workers_cluster_without_kafkas_and_its_own(worker: Worker, topics: Any) -> None:
    assert listed(worker, "topics") == Choices(["a", "b"])
    assert worker.hosts.asked == []
    topics.names = tuple(f"topic-{number:04}" for number in range(MOST + 1))
    found = listed(worker, "topics")
    assert (len(found.values), found.truncated) == (MOST, True)
    topics.names = ()
    assert listed(worker, "topics").message == "There is no topic yet."
    topics.names = AdminError("NO_ANSWER", "No broker answers", passes=True)
    assert listed(worker, "topics") == Choices([], message="The topics cannot be listed: No broker answers.")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (messages.Listed([]), "There is none yet."),
        (messages.Listed(None), "Orders cannot list values of table."),
        (ConnectorCallError("PostgreSQL refuses."), "PostgreSQL refuses."),
        (
            ConnectorCallError("Orders did not answer within 20 s.", kind=ErrorKind.STALLED),
            "Orders did not answer within 20 s. Check whether what it connects to can be reached.",
        ),
    ],
)
def test_why_there_are_none_is_said(worker: Worker, found: Any, said: str) -> None:
    worker.hosts.found = found
    assert listed(worker, "table") == Choices([], message=said)


def test_for_other_keys_there_is_what_validation_recommends(worker: Worker, recommended: list[str]) -> None:
    assert listed(worker, "mode").message == "Orders cannot list values of mode."
    assert listed(worker, "unknown").message == "Orders cannot list values of unknown."
    recommended.append("upsert")
    assert listed(worker, "mode") == Choices(["upsert"])
    worker.hosts.found = messages.Listed(None)
    assert listed(worker, "table") == Choices(["upsert"])


def test_java_plugins_recommend_only_and_that_is_said(worker: Worker, topics: Any, recommended: list[str]) -> None:
    worker.plugins.target = "java.sink:org.example.Orders"
    assert listed(worker, "mode").message == ("A Java plug-in lists nothing, and Orders recommends no values for mode.")
    recommended.append("upsert")
    assert listed(worker, "mode") == Choices(["upsert"])
    assert listed(worker, "topics") == Choices(["a", "b"])


@pytest.mark.parametrize("name", ["table", "topics"])
def test_a_class_that_is_missing_or_unknown_is_said(worker: Worker, name: str) -> None:
    assert "connector.class" in listed(worker, name, {}).message
    assert listed(worker, name, {"connector.class": "Nobody"}).message == "There is no Nobody."


def test_a_variable_without_a_value_is_said_where_it_matters(worker: Worker, topics: Any) -> None:
    worker.missing = (Unresolved("password", "there is no file /run/secrets."),)
    assert listed(worker, "table").message == "password: there is no file /run/secrets."
    assert worker.hosts.asked == []
    assert listed(worker, "topics").values == ["a", "b"]


@pytest.mark.promise("P8")
def test_what_a_provider_gave_is_neither_listed_nor_said(worker: Worker) -> None:
    worker.given = {"password": "opensesame"}
    worker.hosts.found = messages.Listed(["a", "opensesame"])
    assert listed(worker, "table") == Choices(["a"])
    assert "opensesame" in worker.hosts.asked[0].secrets


def test_an_error_of_a_plug_in_that_does_not_load_is_said(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*_: object) -> None:
        raise ConnectError("Orders cannot be imported.")

    monkeypatch.setattr(worker.hosts, "call", call)
    assert listed(worker, "table").message == "Orders cannot be imported."
