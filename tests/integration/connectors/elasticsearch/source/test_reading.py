"""Documents are read once each, also those that are written while others are read, and those that change."""

import threading
import time
from collections import Counter
from typing import Any

import pytest

from tests.integration.connectors.elasticsearch.source.conftest import NewIndex, numbers, poll_for
from tests.support.waiting import until

pytestmark = pytest.mark.slow


@pytest.mark.quick
def test_documents_their_keys_and_where_they_were(new_index: NewIndex) -> None:
    index = new_index(shards=1)
    index.put([("a", {"n": 1, "nested": {"tags": ["x", "y"]}}), ("b", {"n": 2.5, "none": None})])
    with index.run(topic_prefix="es-", headers="_index,_id,_seq_no,_primary_term,_version") as run:
        first, second = run.poll_until(2)
    assert (first.topic, first.key, first.value_schema) == (f"es-{index.name}", "a", None)
    assert [first.value, second.value] == [{"n": 1, "nested": {"tags": ["x", "y"]}}, {"n": 2.5, "none": None}]
    assert first.source_partition == {"index": index.name, "shard": 0}
    assert second.source_offset["seq_no"] == 1
    assert [(header.key, header.value) for header in second.headers] == [
        ("_index", index.name),
        ("_id", "b"),
        ("_seq_no", 1),
        ("_primary_term", 1),
        ("_version", 1),
    ]


@pytest.mark.quick
@pytest.mark.parametrize("shards", [1, 3])
def test_changes_come_again_and_deletions_do_not_show(new_index: NewIndex, shards: int) -> None:
    index = new_index(shards=shards)
    index.numbered(0, 100)
    with index.run() as run:
        run.poll_until(100)
        index.delete("n7")
        index.put([("n8", {"n": 800}), ("n8", {"n": 801}), ("new", {"n": 900})])
        run.poll_until(102)
        assert sorted(numbers(run)[100:]) == [801, 900]
        run.poll_all()
        assert len(run.records) == 102


@pytest.mark.parametrize("more", [{}, {"incrementing_field_name": "n"}], ids=["numbers of shards", "field"])
def test_each_is_read_once_whatever_the_pages_and_restarts(new_index: NewIndex, more: dict[str, str]) -> None:
    index = new_index(shards=2, n="long")
    index.numbered(0, 1000)
    with index.run(batch_max_rows="37", **more) as run:
        for wanted in (1, 100, 101, 600):
            run.poll_until(wanted)
            run.restart()
        index.numbered(1000, 100)
        run.poll_until(1100)
        run.poll_all()
        assert sorted(numbers(run)) == list(range(1100))


@pytest.mark.parametrize("writers", [6])
def test_what_is_written_while_it_is_read_is_read_once(new_index: NewIndex, writers: int) -> None:
    """Of writers beside each other those that come later may be seen first: nobody is left behind."""
    index = new_index(shards=1)

    def write(writer: int) -> None:
        for turn in range(40):
            first = (writer * 40 + turn) * 25
            index.numbered(first, 25)
            if turn % 5 == writer % 5:
                index.server.request("POST", f"/{index.name}/_refresh")

    threads = [threading.Thread(target=write, args=[writer]) for writer in range(writers)]
    with index.run(batch_max_rows="100", timeout=60) as run:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            run.poll()
        run.poll_until(writers * 1000)
        run.poll_all()
        assert sorted(numbers(run)) == list(range(writers * 1000))


def test_without_refresh_what_others_refreshed_is_read(new_elasticsearch_index: NewIndex) -> None:
    index = new_elasticsearch_index()
    index.numbered(0, 10)
    with index.run(refresh="false", delay_ms="300") as run:
        time.sleep(0.1)
        index.server.request("POST", f"/{index.name}/_refresh")
        run.poll_until(10)
        index.numbered(10, 10)
        index.server.request("POST", f"/{index.name}/_refresh")
        run.poll_until(20)
        assert numbers(run) == list(range(20))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("long", lambda n: n * 3),
        ("double", lambda n: n / 7),
        ("keyword", lambda n: f"k{n:06}"),
        ("date", lambda n: 1_700_000_000_000 + n),
        ("date", lambda n: f"2024-05-01T10:00:{n // 10:02}.{n % 10}00Z"),
        ("date_nanos", lambda n: f"2024-05-01T10:00:00.{n:09}Z"),
    ],
)
def test_cursors_of_any_type(new_index: NewIndex, kind: str, value: Any) -> None:
    _read_by(new_index, kind, value)


def test_a_cursor_beyond_63_bits(new_opensearch_index: NewIndex) -> None:
    _read_by(new_opensearch_index, "unsigned_long", lambda n: (1 << 63) + n)


def _read_by(new_index: NewIndex, kind: str, value: Any) -> None:
    index = new_index(shards=2, at=kind)
    index.put((f"n{n}", {"n": n, "at": value(n // 3)}) for n in range(300))
    with index.run(incrementing_field_name="at", batch_max_rows="20", delay_ms="50") as run:
        for wanted in (50, 51, 200):
            run.poll_until(wanted)
            run.restart()
        run.poll_until(300)
        index.put((f"n{n}", {"n": n, "at": value(n // 3)}) for n in range(300, 330))
        run.poll_until(330)
        run.poll_all()
        assert sorted(numbers(run)) == list(range(330))


@pytest.mark.promise("P1")
def test_a_restart_in_the_middle_of_equal_values(new_index: NewIndex) -> None:
    index = new_index(shards=1, at="date")
    index.numbered(0, 500, at=1_700_000_000_000)
    with index.run(incrementing_field_name="at", batch_max_rows="1", batch_max_bytes="1024") as run:
        run.poll_until(123)
        run.crash()
        run.restart({"batch.max.rows": "50"})
        run.poll_until(300)
        # More of that value come, before and after a restart.
        index.numbered(500, 50, at=1_700_000_000_000)
        run.restart()
        run.poll_until(550)
        index.numbered(550, 50, at=1_700_000_000_000)
        run.poll_until(600)
        run.poll_all()
        assert numbers(run) == list(range(600))


def test_of_a_field_what_is_younger_than_the_delay_waits(new_index: NewIndex) -> None:
    """A document whose moment is earlier may be written later: within the delay it is not left out."""
    index = new_index(at="date")

    def now() -> int:
        return int(time.time() * 1000)

    with index.run(incrementing_field_name="at", delay_ms="1500") as run:
        begun = now()
        index.put([("late", {"n": 2, "at": begun})])
        poll_for(run, 0.5)
        assert run.records == []
        index.put([("early", {"n": 1, "at": begun - 100})])
        run.poll_until(2)
        assert now() - begun >= 1500
        assert numbers(run) == [1, 2]


def test_a_moment_in_the_future_holds_nothing_up(new_index: NewIndex) -> None:
    index = new_index(at="date")
    index.put([("future", {"n": 1, "at": "2999-01-01"}), ("past", {"n": 2, "at": "2001-01-01"})])
    with index.run(incrementing_field_name="at", delay_ms="10") as run:
        run.poll_until(1)
        index.put([("later", {"n": 3, "at": "2002-01-01"})])
        run.poll_until(2)
        poll_for(run, 0.3)
        assert numbers(run) == [2, 3]


def test_of_numbers_the_highest_one_is_to_be_old_enough(new_index: NewIndex) -> None:
    index = new_index(at="long")
    index.put([("two", {"n": 2, "at": 2})])
    with index.run(incrementing_field_name="at", delay_ms="1000") as run:
        poll_for(run, 0.3)
        assert run.records == []
        index.put([("one", {"n": 1, "at": 1})])
        run.poll_until(2)
        assert numbers(run) == [1, 2]


def test_documents_without_the_field_are_not_read(new_index: NewIndex) -> None:
    index = new_index()
    with index.run(incrementing_field_name="at") as run:
        assert run.poll_all() == []  # nobody knows yet what the field is
        index.put([("a", {"n": 1}), ("b", {"n": 2, "at": 5})])
        run.poll_until(1)
        assert numbers(run.poll_all() and run) == [2]


def test_an_initial_value(new_index: NewIndex) -> None:
    index = new_index(at="date")
    index.put((f"n{n}", {"n": n, "at": f"2024-01-{n:02}"}) for n in range(1, 11))
    with index.run(incrementing_field_name="at", incrementing_initial="2024-01-07") as run:
        run.poll_until(3)
        assert numbers(run) == [8, 9, 10]


def test_a_query_and_fields(new_index: NewIndex) -> None:
    index = new_index()
    index.put((f"n{n}", {"n": n, "even": n % 2 == 0, "a": {"b": 1, "c": 2}}) for n in range(10))
    with index.run(query='{"term": {"even": true}}', fields="n,a.*", fields_exclude="*.c") as run:
        run.poll_until(5)
        assert [record.value for record in run.poll_all()] == [{"n": n, "a": {"b": 1}} for n in range(0, 10, 2)]


def test_several_indices_aliases_and_tasks(new_index: NewIndex) -> None:
    index = new_index(shards=2)
    other = f"{index.name}-other"
    index.make(1, other)
    index.numbered(0, 50)
    index.put(((f"o{n}", {"n": n}) for n in range(50, 80)), name=other)
    alias = f"{index.name}-alias"
    index.server.request("POST", "/_aliases", {"actions": [{"add": {"index": other, "alias": alias}}]})
    with index.run(index_names=f"{index.name},{alias},nothing-*,nowhere", tasks_max="5") as run:
        assert len(run.tasks) == 3
        run.poll_until(80)
        assert Counter(record.topic for record in run.records) == {index.name: 50, other: 30}


def test_indices_that_come_are_noticed_and_those_that_go(new_elasticsearch_index: NewIndex) -> None:
    index = new_elasticsearch_index()
    index.numbered(0, 5)
    with index.run(index_poll_interval_ms="100", tasks_max="2") as run:
        run.poll_until(5)
        other = f"{index.name}-2"
        index.make(1, other)
        index.put([("x", {"n": 5})], name=other)
        until(lambda: run.reconfiguration_requested)
        run.reconfigure()
        run.poll_until(6)
        index.server.drop(other)
        until(lambda: run.reconfiguration_requested)
        run.reconfigure()
        index.numbered(6, 1)
        run.poll_until(7)
        assert sorted(numbers(run)) == list(range(7))


def test_an_index_that_is_made_again_is_read_from_its_beginning(new_index: NewIndex) -> None:
    index = new_index()
    index.numbered(0, 20)
    with index.run() as run:
        run.poll_until(20)
        index.drop()
        index.make()
        index.numbered(20, 30)
        run.poll_until(50)
        index.drop()
        index.make()
        index.numbered(50, 40)
        run.restart()
        run.poll_until(90)
        assert numbers(run) == list(range(90))


@pytest.mark.parametrize("more", [{}, {"incrementing_field_name": "n"}], ids=["numbers of shards", "field"])
def test_an_index_that_was_restored_as_it_was_earlier_is_gone_on_with(
    new_elasticsearch_index: NewIndex, more: dict[str, str]
) -> None:
    index = new_elasticsearch_index(n="long")
    index.numbered(0, 20)
    with index.run(**more) as run:
        run.poll_until(20)
        ((partition, offset),) = run.offsets
    # Offsets speak of a later state than there is.
    stored = {**offset, "seq_no": 100}
    with index.run(offsets=[(partition, stored)], **more) as run:
        index.numbered(20, 5)
        run.poll_until(5)
        assert set(numbers(run)) >= set(range(20, 25))


def test_names_of_topics(new_elasticsearch_index: NewIndex) -> None:
    index = new_elasticsearch_index()
    stream = f".ds-{index.name}-2026.01.31-000001"
    index.make(1, stream)
    index.numbered(0, 1)
    index.put([("s", {"n": 1})], name=stream)
    with index.run(index_names=f"{index.name},{stream}", topic_prefix="p-", topic_name="x.${index}") as run:
        run.poll_until(2)
        assert [record.topic for record in run.records] == [f"p-x.{index.name}"] * 2
    with index.run(topic_name="all") as run:
        assert run.poll_until(1)[0].topic == "all"


def test_pages_are_bounded_in_bytes(new_elasticsearch_index: NewIndex) -> None:
    index = new_elasticsearch_index()
    for part in range(10):
        index.put((f"{part}-{n}", {"n": part * 40 + n, "text": "x" * 50_000}) for n in range(40))
    with index.run(batch_max_bytes="500000") as run:
        run.poll_until(400)
        sizes = [len(batch) for batch in run.polled]
        # The first page is small in rows; of those behind it the size is known.
        assert sizes[0] <= 200
        assert max(sizes[1:]) <= 12
        assert numbers(run) == list(range(400))
