"""Moments are written and read by a pattern of SimpleDateFormat as Java writes and reads them."""

import random
from collections.abc import Iterator

import pytest

from connect.data import SinkRecord
from tests.support.java import Oracle

from .compare import disagreements
from .dates import MOMENTS, PATTERNS, mangled, pattern
from .java import Case, ask
from .records import moment

CONVERTER = "TimestampConverter$Value"
TEXTS = [
    "",
    "x",
    "2024-02-29",
    "20240229",
    "12:34",
    "Feb",
    "february",
    "Thursday",
    "thu",
    "PM",
    "am",
    "UTC",
    "+0100",
    "Z",
    "5",
    "-5",
]


def writing(form: str, moments: list[int]) -> Case:
    records = [SinkRecord("t", moment(each)) for each in moments]
    return Case(CONVERTER, {"target.type": "string", "format": form}, records)


def reading(form: str, texts: list[str]) -> Case:
    return Case(CONVERTER, {"target.type": "unix", "format": form}, [SinkRecord("t", text) for text in texts])


def written(java: Oracle, patterns: list[str], moments: list[int]) -> Iterator[tuple[str, list[str]]]:
    """What Java writes by each pattern that it knows."""
    for case, results in zip(cases := [writing(p, moments) for p in patterns], ask(java, cases), strict=True):
        texts = [result["value"][1] for result in results if isinstance(result, dict)]
        if texts:
            yield case.config["format"] or "", texts


def test_moments_are_written_alike(java: Oracle) -> None:
    assert disagreements(java, [writing(each, MOMENTS) for each in PATTERNS]) == []


def test_texts_are_read_alike(java: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    cases = []
    for form, texts in written(java, PATTERNS, chance.sample(MOMENTS, 5)):
        cases.append(reading(form, [*texts, *(mangled(chance, text) for text in texts), *TEXTS]))
    assert disagreements(java, cases) == []


@pytest.mark.slow
def test_generated_patterns_write_and_read_alike(java: Oracle, seed: int) -> None:
    chance = random.Random(f"patterns {seed}")
    patterns = [pattern(chance) for _ in range(600)]
    cases = [writing(each, chance.sample(MOMENTS, 4)) for each in patterns]
    for form, texts in written(java, patterns + PATTERNS, chance.sample(MOMENTS, 6)):
        cases.append(reading(form, [*texts, *(mangled(chance, text) for text in texts * 3)]))
    assert disagreements(java, cases) == []
