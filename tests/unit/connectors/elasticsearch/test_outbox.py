"""The outbox: how records are cut into requests, and which may be on their way at a time."""

import random
import threading
from collections.abc import Callable

import pytest

from connect import SinkBatch, Values
from connectors.elasticsearch.sink.lines import Lines
from connectors.elasticsearch.sink.outbox import Outbox, Request

BATCH = SinkBatch("t", Values([]), offsets=[])


def lines(ids: list[str], *, ordered: bool = True, size: int = 10) -> Lines:
    items = [id_.encode().ljust(size, b".") for id_ in ids]
    return Lines("t", BATCH, range(len(ids)), items, [id_.encode() for id_ in ids] if ordered else None)


def outbox(send: Callable[[Request], None], **more: int) -> Outbox:
    return Outbox(send, **{"threads": 3, "most": 10, "most_bytes": 1000, "linger": 0, **more})


def sent(given: list[Lines], **more: int) -> list[list[bytes]]:
    """The requests that one thread makes of these, each once it is full."""
    requests: list[list[bytes]] = []
    box = outbox(lambda request: requests.append(request.items()), **{"threads": 1, "linger": 60, **more})
    for each in given:
        box.add(each)
    assert box.flush(10)
    box.end(1)
    return requests


def test_requests_are_cut_by_records() -> None:
    given = [lines([str(n) for n in range(at, at + 7)]) for at in range(0, 21, 7)]
    assert list(map(len, sent(given))) == [10, 10, 1]
    assert [item for request in sent(given) for item in request] == [item for each in given for item in each.items]


def test_requests_are_cut_by_bytes_and_one_record_may_be_larger() -> None:
    found = sent([lines(["a", "b"], size=400), lines(["c"], size=5000), lines(["d", "e"], size=10)])
    assert [[item[:1] for item in request] for request in found] == [[b"a", b"b"], [b"c"], [b"d", b"e"]]
    assert list(map(len, sent([lines(["a", "b", "c"], size=400)], most_bytes=-1))) == [3]


def test_a_request_may_hold_each_document_once() -> None:
    found = sent([lines(["a", "b", "a", "c", "c"])], alone=True)
    assert [[item[:1] for item in request] for request in found] == [[b"a", b"b"], [b"a", b"c"], [b"c"]]


@pytest.mark.parametrize("ordered", [True, False])
def test_no_document_is_in_two_requests_at_a_time_where_its_order_counts(seed: int, ordered: bool) -> None:
    chance = random.Random(seed)
    lock, now, seen, met = threading.Lock(), [], [], []

    def send(request: Request) -> None:
        ids = {item[:2] for item in request.items()}
        with lock:
            met.extend(ids & other for other in now)
            now.append(ids)
        threading.Event().wait(chance.random() / 500)
        with lock:
            now.remove(ids)
            seen.extend(request.items())

    box = outbox(send)
    given = [lines([f"{chance.randrange(12):02}{n}.{k}" for k in range(5)], ordered=False) for n in range(80)]
    for each in given:
        if ordered:
            each.ids = [item[:2] for item in each.items]
        box.add(each)
    assert box.flush(30)
    box.end(1)
    assert box.records == 0
    assert any(met) is not ordered
    expected = [item for each in given for item in each.items]
    assert sorted(seen) == sorted(expected)
    if ordered:
        for id_ in {item[:2] for item in expected}:
            assert [item for item in seen if item[:2] == id_] == [item for item in expected if item[:2] == id_]


def test_what_cannot_be_sent_stops_the_rest_and_is_told() -> None:
    def send(request: Request) -> None:
        raise ValueError("no")

    box = outbox(send)
    box.add(lines(["a"]))
    assert box.flush(10)
    assert str(box.error) == "no"
    assert box.room(1, 1, 0)
    box.add(lines(["b"]))
    assert box.flush(10)
    assert [part.rows for part in [lines(["b"])]]
    box.end(1)


def test_there_is_room_again_when_requests_are_done() -> None:
    going = threading.Event()
    box = outbox(lambda _: bool(going.wait(10)) and None)
    box.add(lines([str(n) for n in range(30)]))
    assert not box.room(30, 10_000, 0.05)
    assert not box.room(1000, 200, 0.05)
    assert not box.flush(0.05)
    going.set()
    assert box.room(30, 200, 10)
    assert box.flush(10)
    box.end(1)


def test_a_wait_between_tries_ends_with_the_task() -> None:
    box = outbox(lambda _: None)
    assert box.wait(0.001)
    threading.Timer(0.05, box.end, [0.1]).start()
    assert not box.wait(60)
