"""Transformations and predicates give what Kafka Connect's give: records, schemas, and errors of the same class."""

import random

import pytest

from tests.support.java import Oracle

from .compare import batch_disagreements, disagreements
from .generate import MAKERS, case


@pytest.mark.quick
@pytest.mark.parametrize("name", MAKERS)
def test_generated_records_are_changed_alike(java: Oracle, seed: int, name: str) -> None:
    chance = random.Random(f"{seed} {name}")
    cases = [case(chance, name) for _ in range(15)]
    assert disagreements(java, cases) == []


@pytest.mark.parametrize("name", MAKERS)
def test_a_batch_gives_what_its_records_give(seed: int, name: str) -> None:
    chance = random.Random(f"{seed} {name}")
    assert batch_disagreements([case(chance, name) for _ in range(15)]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_many_generated_records_are_changed_alike(java: Oracle, seed: int, name: str) -> None:
    chance = random.Random(f"many {seed} {name}")
    cases = [case(chance, name) for _ in range(250)]
    assert disagreements(java, cases) == []
    assert batch_disagreements(cases) == []
