"""Checks of source and sink connectors alike."""

from __future__ import annotations

import itertools
import logging
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

from connect.api.connector import Connector
from connect.api.plugin import Plugin
from connect.errors import MASK, ConnectError
from connect.settings import ConfigValue, Kind, Listed
from connect.storage.offsets import MemoryOffsetStore
from connect.telemetry.metrics import Registry
from connect.testing._connector import ConnectorRun
from connect.testing.conformance._plugin import PluginConformance

_JUNK = ("", " ", "-1", "0", "9" * 30, "1e400", "nan", "\x00", "{", "[1", "${x}", "*", "(", "é漢𝄞", ",,", "x" * 10_000)
_MOST_LISTED = 1000
_WRONG_SECRET = "conformance-wrong-secret-58f3"  # noqa: S105 - it opens nothing


class ConnectorConformance(PluginConformance):
    """Base of `SourceConformance` and `SinkConformance`.

    Attributes:
        connector: the class under test.
        stop_within: seconds that a task may take to end: `task.shutdown.graceful.timeout.ms`.
    """

    connector: ClassVar[type[Any]]
    stop_within: ClassVar[float] = 5.0

    def config(self) -> dict[str, str]:
        """A configuration that works. Called once or more in each test; files may go to `self.tmp_path`."""
        raise NotImplementedError

    def exercise(self, config: Mapping[str, str]) -> list[Any]:
        """Start with this configuration, move something, stop. Returns the plug-ins' instances."""
        raise NotImplementedError

    def plugin(self) -> type[Plugin]:
        return self.connector

    # Settings.

    def test_the_configuration_of_this_suite_is_valid(self) -> None:
        wrong = {value.name: value.errors for value in self._new().validate(self.config()) if value.errors}
        assert not wrong

    def test_validate_never_raises(self) -> None:
        connector, config = self._new(), self.config()
        names = [setting.name for setting in self.connector.settings]
        attempts: list[dict[str, Any]] = [{}, dict.fromkeys(names)]
        for junk in _JUNK:
            attempts += [dict.fromkeys(names, junk), *({**config, name: junk} for name in names)]
        attempts += [{key: text for key, text in config.items() if key != name} for name in config]
        attempts += [{**config, name: None} for name in names]
        for attempt in attempts:
            found = connector.validate(attempt)
            assert all(isinstance(value, ConfigValue) for value in found)
            lacking = set(names) - {value.name for value in found}
            assert not lacking, f"validate says nothing about {lacking}"

    def test_required_settings_are_asked_for(self) -> None:
        found = {value.name: value.errors for value in self._new().validate({})}
        silent = [s.name for s in self.connector.settings if s.required and not found[s.name]]
        assert not silent, f"nothing is said when these are missing: {silent}"

    def test_listed_values_are_texts(self) -> None:
        for name in (setting.name for setting in self.connector.settings if setting.listed is Listed.BY_CONNECTOR):
            found = self._listed(name, self.config())
            assert found is not None, f"{name} is declared as listed, and `choices` lists nothing"
            other = [value for value in found if not isinstance(value, str)]
            assert not other, f"values of {name} are texts: {other}"
            self._listed(name, {})  # as far as somebody has come with a form

    # Life.

    def test_start_and_stop_work_twice(self) -> None:
        for _ in range(2):
            self.exercise(self.config())

    def test_task_configs_are_texts_and_at_most_tasks_max(self) -> None:
        for most in (1, 2, 3, 10):
            with self._started({**self.config(), "tasks.max": str(most)}, check=False) as started:
                configs = started.connector.task_configs(most)
                assert len(configs) <= most
                for config in configs:
                    other = {k: v for k, v in config.items() if not isinstance(k, str) or not isinstance(v, str)}
                    assert not other, f"keys and values of task configurations are texts: {other}"

    # Secrets.

    def test_secrets_show_nowhere(self) -> None:
        names = [setting.name for setting in self.connector.settings if setting.kind is Kind.PASSWORD]
        config = self.config()
        secrets = {name: config[name] for name in names if config.get(name)}
        self._shows_none(config, set(secrets.values()))
        for name in names:
            self._shows_none({**config, name: _WRONG_SECRET}, {_WRONG_SECRET, *secrets.values()})

    def _shows_none(self, config: Mapping[str, str], secrets: set[str]) -> None:
        with _log() as lines:
            texts = list(map(repr, self._validated(config)))
            try:
                texts += map(repr, self.exercise(config))
            except Exception as error:  # a wrong secret is wrong
                texts += traceback.format_exception(error)
        for text in (*lines, *texts):
            for secret in secrets:
                if secret in text:
                    pytest.fail(f"a secret shows in: {text.replace(secret, MASK)}")

    def _validated(self, config: Mapping[str, str]) -> Iterator[ConfigValue]:
        for attempt in (config, *({**config, setting.name: "\x00"} for setting in self.connector.settings)):
            yield from self._new().validate(attempt)

    # Inside.

    def _new(self) -> Connector:
        made: Connector = self.connector()
        return made

    def _listed(self, name: str, config: Mapping[str, str]) -> list[Any] | None:
        try:
            found = self._new().choices(name, config)
            return None if found is None else list(itertools.islice(found, _MOST_LISTED))
        except ConnectError:
            return []  # it says why

    @contextmanager
    def _started(self, config: Mapping[str, str], *, check: bool = True) -> Iterator[ConnectorRun[Any]]:
        started: ConnectorRun[Any] = ConnectorRun(self.connector, config, MemoryOffsetStore(), Registry())
        started.start(check=check)
        try:
            yield started
        finally:
            started.stop()


def counted(values: Iterable[Any]) -> Counter[str]:
    """How often each value is there. The order in a dict does not count."""
    return Counter(repr(_in_order(value)) for value in values)


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value, key=repr)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextmanager
def _log() -> Iterator[list[str]]:
    """The log meanwhile, at every level."""
    root, handler = logging.getLogger(), _Lines()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler.lines
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
