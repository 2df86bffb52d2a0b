"""The HTTP sink in memory, against a real server: what is sent, in which order, what is refused, what is committed."""

from __future__ import annotations

import decimal
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from connect import ConfigError, ConnectError, Schema, SinkRecord, TopicPartition, logical
from connect.testing import SinkRun
from connectors.http.sink import HttpSinkConnector
from tests.servers.rest_api import CUT, HANG, Answer, RestApi, Seen, rest_api
from tests.support.waiting import until

FIRST, SECOND = TopicPartition("test", 0), TopicPartition("test", 1)
DEAD_LETTERS = {"errors.tolerance": "all", "errors.log.enable": "true"}
BATCHES = {"batching.enabled": "true"}


@pytest.fixture
def api() -> Iterator[RestApi]:
    with rest_api() as server:
        yield server


def run(api: RestApi, path: str = "/hook", *, partitions: int = 1, **more: str) -> SinkRun:
    config = {"http.url": f"{api.url}{path}", "http.authorization.type": "none", "retry.backoff.ms": "10", **more}
    return SinkRun(HttpSinkConnector, config, partitions=partitions, timeout=20)


@contextmanager
def failing(sink: SinkRun) -> Iterator[SinkRun]:
    """A run whose task fails: stopping it, which says so again, gives back its connections."""
    sink.start()
    try:
        yield sink
    finally:
        with suppress(ConnectError):
            sink.stop()


def bodies(api: RestApi) -> list[bytes]:
    return [seen.body for seen in api.accepted]


def errors(config: Mapping[str, str]) -> dict[str, str]:
    return {value.name: " ".join(value.errors) for value in HttpSinkConnector().validate(config) if value.errors}


def test_each_record_is_a_request(api: RestApi) -> None:
    with run(api) as sink:
        sink.put("a", {"b": 1}, b"c", 5, [1])
        sink.commit()
        assert bodies(api) == [b"a", b'{"b":1}', b"c", b"5", b"[1]"]
        assert "content-type" not in api.accepted[0].headers
        assert {seen.method for seen in api.accepted} == {"POST"}
        assert sink.committed == {FIRST: 5}


def test_a_batch_is_one_request_as_aiven_writes_it(api: RestApi) -> None:
    with run(api, **BATCHES) as sink:
        sink.put("a", "b", "c")
        sink.commit()
        assert bodies(api) == [b"a\nb\nc\n"]


def test_the_first_request_over_a_connection_that_the_server_closes_is_sent_again_as_a_retry(api: RestApi) -> None:
    with run(api, **{"max.retries": "0"}) as sink:
        sink.put("a")
        sink.commit()
        api.script = [CUT]
        sink.put("b")
        with pytest.raises(ConnectError, match=r"had no answer.*Given up|max\.retries"):
            sink.commit()
    assert [seen.body for seen in api.requests] == [b"a", b"b"], "a POST is not sent twice unasked"


def test_a_batch_has_what_stands_around_and_between(api: RestApi) -> None:
    around = {"batch.prefix": "[ ", "batch.separator": " , ", "batch.suffix": "]", "batch.max.size": "2"}
    with run(api, **BATCHES, **around) as sink:
        sink.put({"a": 1}, {"a": 2}, {"a": 3})
        sink.commit()
        assert bodies(api) == [b'[ {"a":1} , {"a":2}]', b'[ {"a":3}]']


def test_a_record_of_several_lines_of_json_is_one_line_of_a_batch(api: RestApi) -> None:
    json_ = {
        "key.converter": "StringConverter",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    with run(api, **BATCHES, **json_) as sink:
        sink.put(b'{\n  "a": 1\n}', b'{"a": 2}')
        sink.commit()
        assert api.values == [{"a": 1}, {"a": 2}]


def test_batches_end_where_they_become_too_long(api: RestApi) -> None:
    with run(api, **BATCHES, **{"batch.max.bytes": "10"}) as sink:
        sink.put("aaaa", "bbbb", "cccc", "d" * 30, "e")
        sink.commit()
        assert bodies(api) == [b"aaaa\nbbbb\n", b"cccc\n", b"d" * 30 + b"\n", b"e\n"]


def test_small_batches_wait_and_go_together(api: RestApi) -> None:
    api.pause = 0.2
    with run(api, **BATCHES) as sink:
        for number in range(10):
            sink.put(number)
        api.pause = 0
        sink.commit()
        assert api.values == list(range(10))
        assert len(api.accepted) <= 3


def test_values_with_a_schema_are_json_without_it(api: RestApi) -> None:
    price = Schema.struct({"price": logical.decimal(2)})
    for form, written in (("NUMERIC", b'{"price":1.50}'), ("BASE64", b'{"price":"AJY="}')):
        api.accepted.clear()
        with run(api, **{"decimal.format": form}) as sink:
            sink.put({"price": decimal.Decimal("1.50")}, schema=price)
            sink.commit()
            assert bodies(api) == [written]


def test_headers_and_logins(api: RestApi) -> None:
    api.authorization = "Bearer t0ken"
    more = {
        "http.authorization.type": "static",
        "http.headers.authorization": "Bearer t0ken",
        "http.headers.content.type": "application/json",
        "http.headers.additional": "X-One:1,X-Two: a:b",
    }
    with run(api, **more) as sink:
        sink.put("a")
        sink.commit()
    headers = api.accepted[0].headers
    assert (headers["content-type"], headers["x-one"], headers["x-two"]) == ("application/json", "1", "a:b")


def test_an_api_key_and_a_token(api: RestApi) -> None:
    api.authorization = "k3y"
    with run(api, **{"http.authorization.type": "apikey", "http.headers.authorization": "k3y"}) as sink:
        sink.put("a")
        sink.commit()
    api.by_token = True
    oauth = {
        "http.authorization.type": "oauth2",
        "oauth2.access.token.url": f"{api.url}/token",
        "oauth2.client.id": "me",
        "oauth2.client.secret": "s3cret",
    }
    for mode in ("HEADER", "URL"):
        with run(api, **oauth, **{"oauth2.client.authorization.mode": mode}) as sink:
            sink.put("b")
            sink.commit()
    assert bodies(api) == [b"a", b"b", b"b"]


def test_places_in_a_url(api: RestApi) -> None:
    with run(api, "/{topic}/${partition}/{key}?at={offset}", **{"http.method": "PUT"}) as sink:
        sink.put("a", "b", key="x/y ü")
        sink.put("c", key=7)
        sink.commit()
    assert [seen.path for seen in api.accepted] == ["/test/0/x%2Fy%20%C3%BC"] * 2 + ["/test/0/7"]
    assert [seen.query for seen in api.accepted] == [{"at": "0"}, {"at": "1"}, {"at": "2"}]
    assert {seen.method for seen in api.accepted} == {"PUT"}


def test_records_of_one_url_share_a_request(api: RestApi) -> None:
    with run(api, "/{key}", **BATCHES) as sink:
        sink.put(*(SinkRecord("test", n, None, key, None, 0, 0) for n, key in enumerate("aabba")))
        sink.commit()
    assert [(seen.path, seen.values) for seen in api.accepted] == [("/a", [0, 1]), ("/b", [2, 3]), ("/a", [4])]


def test_a_tombstone_deletes(api: RestApi) -> None:
    api.decide = lambda seen: 404 if seen.path == "/gone" else 204
    with run(api, "/{key}", **{"behavior.on.null.values": "delete"}, **BATCHES) as sink:
        sink.put("a", key="x")
        sink.put(None, key="gone")
        sink.put(None, key="x")
        sink.commit()
        assert [(seen.method, seen.path) for seen in api.requests] == [
            ("POST", "/x"),
            ("DELETE", "/gone"),
            ("DELETE", "/x"),
        ]
        assert sink.committed == {FIRST: 3}


@pytest.mark.parametrize("behavior", ["ignore", "fail"])
def test_a_record_without_a_value(api: RestApi, behavior: str) -> None:
    with run(api, **{"behavior.on.null.values": behavior}, **DEAD_LETTERS) as sink:
        sink.put("a", None, "b")
        sink.commit()
        assert bodies(api) == [b"a", b"b"]
        assert [record.offset for record, _ in sink.errant] == ([1] if behavior == "fail" else [])
        assert sink.committed == {FIRST: 3}


def test_a_record_without_a_key_has_no_url(api: RestApi) -> None:
    with run(api, "/{key}", **DEAD_LETTERS) as sink:
        sink.put("a", key="k")
        sink.put("b")
        sink.commit()
        assert [str(error) for _, error in sink.errant] == [
            "test-0@1: http.url has {key}, and the record's key is missing."
        ]
        assert sink.committed == {FIRST: 2}


@pytest.mark.parametrize("failure", [Answer(503), Answer(429, {"Retry-After": "0"}), CUT])
def test_what_fails_in_passing_is_sent_again_and_in_order(api: RestApi, failure: Any) -> None:
    api.script = [None, failure]
    with run(api) as sink:
        sink.put(*range(20))
        sink.commit()
        assert [json.loads(body) for body in bodies(api)] == list(range(20))
        assert sink.committed == {FIRST: 20}


@pytest.mark.promise("P7")
def test_a_long_answer_is_as_good_as_a_short_one(api: RestApi) -> None:
    api.script = [Answer(201, {}, b"x" * (3 << 20))]  # of a batch an API may tell what it has made
    with run(api) as sink:
        sink.put("a", "b")
        sink.commit()
        assert [each.body for each in api.requests] == [b"a", b"b"]
        assert sink.committed == {FIRST: 2}


def test_it_is_given_up_after_max_retries_and_nothing_behind_is_committed(api: RestApi) -> None:
    api.decide = lambda seen: 500 if seen.body == b"3" else 204
    with failing(run(api, **{"max.retries": "2"})) as sink:
        sink.put(*range(9))
        until(lambda: len(api.requests) == 6)
        with pytest.raises(ConnectError, match=r"answers 500 .*so it is.* Given up after 2 retries \(max\.retries\)"):
            sink.commit()
    assert bodies(api) == [b"0", b"1", b"2"]
    assert sink.committed.get(FIRST, 0) <= 3


@pytest.mark.promise("P5")
@pytest.mark.parametrize("bad", [0, 7, 19])
def test_a_record_that_is_refused_is_found_in_its_batch(api: RestApi, bad: int) -> None:
    api.decide = lambda seen: 422 if bad in seen.values else 204
    with run(api, **BATCHES, **DEAD_LETTERS) as sink:
        sink.put(*range(20))
        sink.commit()
        assert [record.value for record, _ in sink.errant] == [bad]
        assert f"test-0@{bad}: {api.url} answers 422" in str(sink.errant[0][1])
        assert api.values == [value for value in range(20) if value != bad]
        assert len(api.requests) <= 11
        assert sink.committed == {FIRST: 20}


def test_without_an_error_policy_a_refused_record_fails_the_task(api: RestApi) -> None:
    api.decide = lambda seen: 400 if seen.body == b"1" else 204
    with failing(run(api)) as sink:
        sink.put(0, 1, 2)
        with pytest.raises(ConnectError, match=r"answers 400.* Set errors\.deadletterqueue\.topic\.name"):
            sink.commit()
    assert sink.committed.get(FIRST, 0) <= 1


@pytest.mark.parametrize("status", [401, 403, 404, 405, 302])
def test_what_is_no_record_s_fault_fails_the_task_whatever_the_policy(api: RestApi, status: int) -> None:
    api.decide = lambda _: status
    with failing(run(api, **DEAD_LETTERS)) as sink:
        sink.put("a")
        with pytest.raises(ConnectError, match=f"answers {status}"):
            sink.commit()
    assert sink.errant == []


def test_a_key_of_dots_does_not_lead_to_another_url(api: RestApi) -> None:
    with run(api, "/things/{key}", **{"behavior.on.null.values": "delete"}, **DEAD_LETTERS) as sink:
        for key in ("..", ".", "...", "a/.."):
            sink.put(None, key=key)
        sink.commit()
        assert [record.key for record, _ in sink.errant] == ["..", "."]
    assert [seen.path for seen in api.accepted] == ["/things/...", "/things/a%2F.."]
    with run(api, "/things?id={key}") as sink:
        sink.put("a", key="..")
        sink.commit()
    assert api.accepted[-1].query == {"id": ".."}


def test_a_url_of_its_own_may_be_a_record_s_fault(api: RestApi) -> None:
    api.decide = lambda seen: 404 if seen.path == "/b" else 204
    with run(api, "/{key}", **DEAD_LETTERS) as sink:
        for key in "abc":
            sink.put(key, key=key)
        sink.commit()
        assert [record.key for record, _ in sink.errant] == ["b"]


def test_only_what_was_acknowledged_is_committed(api: RestApi) -> None:
    api.script = [None, None, HANG]
    with run(api) as sink:
        sink.put(*range(5))
        until(lambda: len(api.requests) == 3)
        sink.commit()
        assert sink.committed == {FIRST: 2}
        began = time.monotonic()
    assert time.monotonic() - began < 5


def test_partitions_go_beside_each_other_and_each_in_order(api: RestApi) -> None:
    api.pause = 0.005
    with run(api, partitions=4) as sink:
        for partition in range(4):
            sink.put(*([partition, n] for n in range(30)), partition=partition)
        sink.commit()
        until(lambda: len(api.accepted) == 120)
        sink.commit()
        assert 2 <= api.most_under_way <= 4
        for partition in range(4):
            assert [n for where, n in api.values if where == partition] == list(range(30))


def test_keys_keep_their_order_while_others_go_beside_them(api: RestApi) -> None:
    api.pause = 0.005
    with run(api, **{"http.order": "key"}) as sink:
        sink.put(*(SinkRecord("test", [n % 10, n], None, str(n % 10), None, 0, 0) for n in range(100)))
        until(lambda: len(api.accepted) == 100)
        sink.commit()
        assert 2 <= api.most_under_way <= 4
        for key in range(10):
            assert [n for of, n in api.values if of == key] == list(range(key, 100, 10))
        assert sink.committed == {FIRST: 100}


def test_without_an_order_requests_go_beside_each_other(api: RestApi) -> None:
    api.pause = 0.005
    with run(api, **{"http.order": "none", "http.max.in.flight": "3"}) as sink:
        sink.put(*range(60))
        until(lambda: len(api.accepted) == 60)
        sink.commit()
        assert api.most_under_way == 3
        assert sorted(api.values) == list(range(60))


def test_a_partition_that_was_lost_is_sent_no_more(api: RestApi) -> None:
    api.script = [HANG]
    with run(api, partitions=2) as sink:
        sink.put(*range(5))
        until(lambda: len(api.requests) == 1)
        sink.put("other", partition=1)
        sink.lose(FIRST)
        sink.commit()
        assert [seen.body for seen in api.accepted] == [b"other"]
        assert sink.committed == {SECOND: 1}
        api.released.set()


def test_a_server_that_hangs_holds_up_records_and_not_the_task(api: RestApi) -> None:
    api.script = [HANG]
    with run(api, **{"max.buffered.bytes": "2000"}) as sink:
        sink.put(*("x" * 500 for _ in range(10)))
        sink.put("late", tries=1)
        assert sink.retries == 1
        api.released.set()


@pytest.mark.parametrize(
    ("changes", "key", "why"),
    [
        ({"http.url": "hook"}, "http.url", "Write https://host/path"),
        ({"http.url": "http://h/{kee}"}, "http.url", "has {kee} in it"),
        ({"http.url": "http://{topic}/"}, "http.url", "in its host"),
        ({"http.authorization.type": "static"}, "http.headers.authorization", "needs it"),
        ({"behavior.on.null.values": "delete"}, "behavior.on.null.values", "needs {key}"),
        ({"batch.max.size": "0"}, "batch.max.size", "not between"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(changes: dict[str, str], key: str, why: str) -> None:
    written = {"http.url": "http://h/", **changes}
    assert why in errors(written)[key]
    with pytest.raises(ConfigError):
        SinkRun(HttpSinkConnector, written).start()


def test_a_configuration_of_aiven_s_is_taken_as_it_is() -> None:
    written = {
        "topics.regex": "topic1",
        "connector.class": "io.aiven.kafka.connect.http.HttpSinkConnector",
        "http.url": "https://127.0.0.1:1/here",
        "http.authorization.type": "oauth2",
        "oauth2.access.token.url": "https://127.0.0.1:1/token",
        "oauth2.client.id": "me",
        "oauth2.client.secret": "x",
        "batching.enabled": "true",
        "batch.max.size": "2",
        "max.retries": "3",
        "kafka.retry.backoff.ms": "5000",
    }
    assert errors(written) == {}


def test_a_secret_is_in_no_message(api: RestApi) -> None:
    secret = {"http.authorization.type": "static", "http.headers.authorization": "Bearer wr0ng-51x"}
    api.authorization = "another"
    with failing(run(api, **secret)) as sink:
        sink.put("a")
        with pytest.raises(ConnectError, match="answers 401 Unauthorized") as raised:
            sink.commit()
    assert "wr0ng" not in str(raised.value)


def test_a_request_is_what_was_seen(api: RestApi) -> None:
    assert Seen("POST", "/", {}, {}, b"1\n2").values == [1, 2]
