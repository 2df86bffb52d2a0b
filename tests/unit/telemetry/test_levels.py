"""Levels of loggers, changed while a worker runs (KIP-495)."""

import logging
import uuid
from collections.abc import Iterator

import pytest

from connect.telemetry.levels import ROOT, Levels


@pytest.fixture
def name() -> Iterator[str]:
    """A logger that nobody else uses."""
    name = f"test{uuid.uuid4().hex}"
    yield name
    for known in list(logging.root.manager.loggerDict):
        if known.startswith(name):
            logging.getLogger(known).setLevel(logging.NOTSET)


def test_a_level_goes_for_a_logger_and_those_below_it(name: str) -> None:
    below, beside = logging.getLogger(f"{name}.a.b"), logging.getLogger(f"{name}x")
    below.setLevel(logging.ERROR)
    levels = Levels()
    assert levels.get(f"{name}.a.b") == ("ERROR", None)
    assert levels.set(name, "debug") == [name, f"{name}.a", f"{name}.a.b"]
    assert below.isEnabledFor(logging.DEBUG)
    assert beside.level == logging.NOTSET
    found = levels.get(f"{name}.a.b")
    assert found is not None
    assert found.level == "DEBUG"
    assert found.last_modified is not None
    assert levels.all()[name].level == "DEBUG"


@pytest.fixture
def as_before() -> Iterator[None]:
    """All loggers have their levels again."""
    before = {each: logging.getLogger(each).level for each in list(logging.root.manager.loggerDict)}
    yield
    for each in list(logging.root.manager.loggerDict):
        logging.getLogger(each).setLevel(before.get(each, logging.NOTSET))


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("java", ["org.apache.kafka.connect", "org.apache.kafka"])
def test_javas_name_for_the_workers_loggers_is_theirs(java: str) -> None:
    levels, ours = Levels(), logging.getLogger("connect.herder")
    assert levels.get(java) == levels.get("connect")
    assert {java, "connect", "connect.herder"} <= set(levels.set(java, "DEBUG"))
    assert ours.level == logging.DEBUG
    assert levels.asked() == [(java, "DEBUG")]  # other processes make the same of it


@pytest.mark.parametrize("level", ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"])
def test_levels_have_javas_names(name: str, level: str) -> None:
    levels = Levels()
    levels.set(name, level)
    found = levels.get(name)
    assert found is not None
    assert found.level == level


def test_what_was_never_logged_is_unknown(name: str) -> None:
    assert Levels().get(name) is None
    assert Levels().get(ROOT) is not None
    assert name not in Levels().all()


def test_an_unknown_level_is_said(name: str) -> None:
    with pytest.raises(ValueError, match="invalid log level 'LOUD'"):
        Levels().set(name, "LOUD")
