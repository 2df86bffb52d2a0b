"""The original's transformations, for all tests of this folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.java import Oracle

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def java(oracle_in_java: Callable[..., Oracle]) -> Oracle:
    sources = [HERE / "Transforms.java", HERE.parent / "converters" / "Oracle.java"]
    # From 19 on, Double.toString gives the shortest digits, as Python does.
    return oracle_in_java(*sources, jars=["kafka-connect"], java=19)
