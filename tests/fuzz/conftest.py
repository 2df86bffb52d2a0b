"""What all targets share: their time, their chance, and the line at their end."""

from __future__ import annotations

import logging
import resource
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.fuzz.running import LIMIT, MEMORY, Fuzz


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a target the time that it was told to take."""
    for item in items:
        if item.path.parent.name == "fuzz":
            item.add_marker(pytest.mark.timeout(LIMIT))


@pytest.fixture(autouse=True)
def little_memory(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have a target fail that would take the memory of the machine. Where there is a broker, Java wants much.

    What tests before it have mapped in this process stays its own.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if "broker" not in request.fixturenames:
        resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + MEMORY, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What is logged of bad inputs is much, and pytest would keep all of it."""
    caplog.set_level(logging.CRITICAL + 1)


@pytest.fixture
def fuzz(seed: int, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Fuzz:
    """Runs this target."""

    def say(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{request.node.path.stem.removeprefix('test_')}: {line}\n")
            sys.stdout.flush()

    return Fuzz(seed, say)
