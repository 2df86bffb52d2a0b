"""A Java converter between Avro and Connect, for the tests of this folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.java import Oracle

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def avro_oracle(oracle_in_java: Callable[..., Oracle]) -> Oracle:
    """The mapping of a Java converter that derives from Confluent's; see `AvroOracle.java`."""
    sources = [HERE / "AvroOracle.java", HERE.parent / "converters" / "Oracle.java"]
    # From 19 on, Double.toString gives the shortest digits, as Python does.
    # Damaged lengths make it ask for gigabytes: with little memory it is refused them at once.
    return oracle_in_java(*sources, jars=["kafka-connect", "avro-converter"], java=19, options=["-Xmx256m"])
