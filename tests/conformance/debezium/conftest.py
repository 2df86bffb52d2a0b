"""Debezium's own transformation, for all tests of this folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.java import Oracle

from .original import Original

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def original(oracle_in_java: Callable[..., Oracle]) -> Original:
    """Debezium 3."""
    return _of(oracle_in_java, "debezium")


@pytest.fixture(scope="session")
def original_2(oracle_in_java: Callable[..., Oracle]) -> Original:
    """Debezium 2."""
    return _of(oracle_in_java, "debezium-2")


def _of(oracle_in_java: Callable[..., Oracle], jar_set: str) -> Original:
    sources = [HERE / "Transform.java", HERE.parent / "converters" / "Oracle.java"]
    return Original(oracle_in_java(*sources, jars=["kafka-connect", jar_set]))
