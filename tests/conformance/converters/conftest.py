"""The original's converters, for all tests of this folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.java import Oracle


@pytest.fixture(scope="session")
def oracle(oracle_in_java: Callable[..., Oracle]) -> Oracle:
    # From 19 on, Double.toString gives the shortest digits, as Python does.
    return oracle_in_java(Path(__file__).with_name("Oracle.java"), jars=["kafka-connect"], java=19)
