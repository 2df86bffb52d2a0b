"""MirrorMaker 2's own classes, for all tests of this folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.java import Oracle


@pytest.fixture(scope="session")
def java(oracle_in_java: Callable[..., Oracle]) -> Oracle:
    return oracle_in_java(Path(__file__).with_name("Mirror.java"), jars=["kafka-connect"])
