"""The page for Prometheus, read back by Prometheus's own parser."""

import math

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from connect.telemetry.exposition import families, text
from connect.telemetry.metrics import Buckets, Registry, Sample

FLOATS = st.floats(width=64)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=20)


def read(page: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples}


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


@given(st.dictionaries(st.tuples(WORDS, WORDS), FLOATS, max_size=5), WORDS)
def test_every_value_and_label_is_read_back(series: dict[tuple[str, str], float], doc: str) -> None:
    samples = [Sample("size_bytes", "gauge", {"a": a, "b": b}, value) for (a, b), value in series.items()]
    found = read(text(families(samples, {"size_bytes": doc})))
    assert found.keys() == {("size_bytes", (("a", a), ("b", b))) for a, b in series}
    assert all(same(found["size_bytes", (("a", a), ("b", b))], value) for (a, b), value in series.items())


@given(st.lists(st.floats(0, 100), max_size=50))
def test_buckets_are_cumulative_and_end_with_all(measured: list[float]) -> None:
    registry = Registry()
    histogram = registry.histogram("put_seconds", (0.1, 1, 10), task="0")
    for value in measured:
        histogram.observe(value)
    found = read(text(families(registry.snapshot(), {})))
    for bound, words in ((0.1, "0.1"), (1, "1"), (10, "10"), (math.inf, "+Inf")):
        expected = sum(value <= bound for value in measured)
        assert found["put_seconds_bucket", (("le", words), ("task", "0"))] == expected
    assert found["put_seconds_count", (("task", "0"),)] == len(measured)
    assert math.isclose(found["put_seconds_sum", (("task", "0"),)], sum(measured), abs_tol=1e-9)


def test_a_counter_is_one_and_large_numbers_are_whole() -> None:
    page = text(families([Sample("bytes_total", "counter", {}, 2.0**52)], {"bytes_total": "Bytes."}))
    assert page == "# HELP bytes_total Bytes.\n# TYPE bytes_total counter\nbytes_total 4503599627370496\n"


def test_a_name_that_two_plug_ins_measure_in_two_ways_is_shown_for_the_first() -> None:
    samples = [
        Sample("lag", "gauge", {"task": "0"}, 1),
        Sample("lag", "histogram", {"task": "1"}, Buckets((1,), (0, 1), 2)),
        Sample("lag", "gauge", {"task": "2"}, 3),
    ]
    assert read(text(families(samples, {}))) == {("lag", (("task", "0"),)): 1, ("lag", (("task", "2"),)): 3}
