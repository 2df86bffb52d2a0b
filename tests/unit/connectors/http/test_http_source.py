"""The HTTP source in memory, against a real server: pages, what is new, and that no restart loses a record."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from connect import ConfigError, ConnectError, RetriableError
from connect.testing import SourceRun
from connectors.http.connection.keys import web_address
from connectors.http.source import HttpSourceConnector, reading
from connectors.http.source.positions import Position, compared, digest, partitions
from tests.servers.rest_api import HANG, Answer, RestApi, rest_api

Run = Callable[..., SourceRun]
PAGES: dict[str, dict[str, str]] = {
    "link": {"http.pagination": "link"},
    "next": {"http.pagination": "next-url", "http.pagination.field": "/meta/next"},
    "cursor": {
        "http.pagination": "cursor",
        "http.pagination.field": "meta.cursor",
        "http.pagination.parameter": "cursor",
    },
    "page": {"http.pagination": "page", "http.pagination.size": "10", "http.pagination.size.parameter": "limit"},
    "offset": {"http.pagination": "offset"},
    "all": {},
    "lines": {},
}
NEW = {"http.offset.field": "at", "http.offset.parameter": "since"}
NEW_FIELD = {"http.offset.field": "at"}


@pytest.fixture
def api() -> Iterator[RestApi]:
    with rest_api() as server:
        server.items = items(25)
        yield server


def items(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"id": n, "at": n} for n in range(start, start + count)]


def config(api: RestApi, path: str, **more: str) -> dict[str, str]:
    where = "/data/items" if path in ("next", "cursor", "page", "offset", "search") else ""
    return {
        "http.url": f"{api.url}/{path}",
        "topic": "things",
        "http.records.path": where,
        "poll.interval.ms": "0",
        "retry.backoff.ms": "0",
        **PAGES.get(path, {}),
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def run(api: RestApi, path: str, offsets: Any = (), **more: str) -> SourceRun:
    return SourceRun(HttpSourceConnector, config(api, path, **more), offsets=offsets, timeout=20)


def values(run: SourceRun) -> list[Any]:
    return [record.value for record in run.records]


def errors(config: Mapping[str, str]) -> dict[str, str]:
    found = HttpSourceConnector().validate(config)
    return {value.name: " ".join(value.errors) for value in found if value.errors}


@pytest.mark.parametrize("path", PAGES)
def test_each_reading_takes_all_where_nothing_says_what_is_new(api: RestApi, path: str) -> None:
    with run(api, path) as source:
        source.poll_until(50)
        assert values(source)[:50] == api.items * 2


@pytest.mark.parametrize("strictly", [False, True])
@pytest.mark.parametrize("path", PAGES)
def test_only_what_is_new_is_read(api: RestApi, path: str, strictly: bool) -> None:
    api.strictly = strictly
    with run(api, path, **{key.replace(".", "_"): value for key, value in NEW.items()}) as source:
        source.poll_until(25)
        api.items += [*items(3, 25), {"id": 99, "at": 27}]
        source.poll_until(29)
        for _ in range(10):
            source.poll()
        assert values(source) == api.items
        assert "since" not in api.requests[0].query
        assert api.requests[-1].query["since"] == "27"


def test_what_has_the_same_time_as_the_newest_and_comes_later_is_read_once(api: RestApi) -> None:
    with run(api, "all", http_offset_field="at", http_offset_parameter="since") as source:
        source.poll_until(25)
        api.items.append({"id": 100, "at": 24})
        source.poll_until(26)
        for _ in range(5):
            source.poll()
        assert values(source) == api.items


def test_the_order_of_records_in_an_answer_does_not_matter(api: RestApi) -> None:
    random.Random(1).shuffle(api.items)
    with run(api, "link", http_offset_field="at", http_offset_parameter="since") as source:
        source.poll_until(25)
        api.items.insert(3, {"id": 25, "at": 25})
        source.poll_until(26)
        assert sorted(each["at"] for each in values(source)) == list(range(26))


@pytest.mark.parametrize("path", PAGES)
def test_a_restart_after_any_record_loses_none_and_repeats_none(api: RestApi, path: str) -> None:
    with run(api, path, http_offset_field="at", http_offset_parameter="since") as source:
        records = source.poll_until(25)
    for done in range(1, 26):
        last = records[done - 1]
        offsets = [(last.source_partition, last.source_offset)]
        with run(api, path, offsets, http_offset_field="at", http_offset_parameter="since") as again:
            again.poll_until(25 - done)
            for _ in range(3):
                again.poll()
            assert values(again) == api.items[done:], f"after {done} records"


def test_the_offsets_of_a_long_page_are_made_in_one_pass(api: RestApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever handles single records asks for each of them."""
    looked: list[Any] = []

    def counting(record: Any) -> str:
        looked.append(record)
        return digest(record)

    monkeypatch.setattr(reading, "digest", counting)
    api.items = items(300)
    single = {"transforms": "once", "transforms.once.type": "Deduplicate", "transforms.once.fields": "id"}
    with run(api, "all", **NEW, **single) as source:
        source.poll_until(300)
        assert [record.source_offset["highest"] for record in source.records[:-1]] == list(range(299))
    assert len(looked) < 5 * 300


def test_a_page_that_has_changed_meanwhile_is_read_again(api: RestApi) -> None:
    with run(api, "page") as source:
        last = source.poll_until(25)[14]
    del api.items[2]  # all later ones are one place further in front
    with run(api, "page", [(last.source_partition, last.source_offset)]) as again:
        again.poll_until(14)
        assert values(again)[:14] == api.items[10:]


@pytest.mark.parametrize("status", [400, 404, 410])
def test_a_cursor_that_the_server_has_forgotten_begins_the_reading_again(api: RestApi, status: int) -> None:
    with run(api, "cursor", http_offset_field="at", http_offset_parameter="since") as source:
        last = source.poll_until(25)[14]
    api.script = [Answer(status)]
    offsets = [(last.source_partition, last.source_offset)]
    with run(api, "cursor", offsets, http_offset_field="at", http_offset_parameter="since") as again:
        again.poll_until(25)
        assert values(again)[:25] == api.items


def test_a_redirection_to_another_server_is_told(api: RestApi) -> None:
    api.script = [Answer(302, {"Location": "https://other.example/v2/items?token=s3cret"})]
    there = "It leads to https://other.example/v2/items. "
    with pytest.raises(ConnectError, match=there) as told, run(api, "all") as source:
        source.poll_until(1)
    assert "s3cret" not in str(told.value)


def test_a_host_may_have_letters_that_are_not_in_ascii() -> None:
    assert web_address("https://münchen.example:8443/straße") == "https://xn--mnchen-3ya.example:8443/stra%C3%9Fe"
    with pytest.raises(ValueError, match="ASCII form, xn--"):
        web_address("https://straße.example/")


@pytest.mark.parametrize(
    "behind",
    [
        Answer(404, {}, b'{"error":"no such page"}'),
        Answer(400, {}, b'{"code":"rest_post_invalid_page_number","message":"The page number requested is larger .."}'),
        Answer(400, {}, b'{"detail":"Invalid page."}'),
    ],
    ids=["404", "wordpress", "invalid page"],
)
@pytest.mark.parametrize("path", ["page", "offset"])
def test_a_page_that_is_not_there_ends_the_pages(api: RestApi, path: str, behind: Answer) -> None:
    api.items = items(20)
    api.script = [None, None, behind]
    with run(api, path, **{key.replace(".", "_"): value for key, value in NEW.items()}) as source:
        records = source.poll_until(20)
        for _ in range(5):
            source.poll()
        assert values(source) == api.items
        assert api.requests[3].query["since"] == "19"
    # Where the task ended before it knew that, it goes on behind the page that it has read.
    api.script = [behind]
    offsets = [(records[-1].source_partition, records[-1].source_offset)]
    with run(api, path, offsets, **{key.replace(".", "_"): value for key, value in NEW.items()}) as again:
        for _ in range(5):
            again.poll()
        assert values(again) == []


@pytest.mark.parametrize("names", [["/b", "/c", "/b"], ["/b", "/c", "/link"]], ids=["a page before", "the first"])
def test_pages_that_form_a_circle_fail_the_task(api: RestApi, names: list[str]) -> None:
    api.script = [Answer(200, {"Link": f'<{name}>; rel="next"'}, b"[1]") for name in names] * 3
    with pytest.raises(ConnectError, match="its pages form a circle"), run(api, "link") as source:
        source.poll_until(9)
    assert len(api.requests) == 3


def test_a_circle_of_cursors_fails_the_task_and_one_that_comes_again_in_the_next_pass_does_not(api: RestApi) -> None:
    api.script = [None] * 6
    api.script += [
        Answer(200, {}, json.dumps({"data": {"items": [1]}, "meta": {"cursor": name}}).encode()) for name in "abab"
    ]
    with pytest.raises(ConnectError, match="its pages form a circle"), run(api, "cursor") as source:
        source.poll_until(56)
    assert len(api.requests) == 9


def test_another_400_behind_the_first_page_fails_the_task(api: RestApi) -> None:
    api.script = [None, Answer(400, {}, b'{"error":"no such filter"}')]
    with pytest.raises(ConnectError, match="no such filter"), run(api, "page") as source:
        source.poll_until(25)


def test_a_first_page_that_is_not_there_fails_the_task(api: RestApi) -> None:
    api.script = [Answer(404)]
    with pytest.raises(ConnectError, match="answers 404"), run(api, "page") as source:
        source.poll_until(1)


def test_a_cursor_has_a_place_in_a_url_and_in_the_body_of_a_post(api: RestApi) -> None:
    api.field = "when"
    api.items = [{"when": f"2026-01-0{n}T00:00:00Z"} for n in range(1, 4)]
    with run(
        api,
        "search?x=${offset.when}",
        http_records_path="data.items",
        http_method="POST",
        http_body='{"since":"${offset.when}","n":1}',
        http_offset_field="when",
        http_offset_initial="2026-01-02T00:00:00Z",
    ) as source:
        source.poll_until(2)
        source.poll()
        assert values(source) == api.items[1:]
    assert api.requests[0].query == {"x": "2026-01-02T00:00:00Z"}
    assert api.requests[0].body == b'{"since":"2026-01-02T00:00:00Z","n":1}'
    assert api.requests[-1].body == b'{"since":"2026-01-03T00:00:00Z","n":1}'
    assert api.requests[0].headers["content-type"] == "application/json"


def test_a_cursor_with_quotes_at_its_ends_stands_in_a_body_as_it_is(api: RestApi) -> None:
    api.field = "name"
    api.items = [{"name": '"a"'}, {"name": '"b"'}]
    with run(
        api,
        "search",
        http_records_path="data.items",
        http_method="POST",
        http_body='{"since":"${offset.name}"}',
        http_offset_field="name",
        http_offset_initial="!",
    ) as source:
        source.poll_until(2)
        source.poll()
    assert api.requests[-1].body == rb'{"since":"\"b\""}'


@pytest.mark.parametrize(
    "written",
    [
        *(1_767_225_600, 1_767_225_600.0, 1_767_225_600_000, "1767225600", "1767225600.000", "1767225600000"),
        *("2026-01-01T00:00:00Z", "20260101"),
    ],
)
def test_a_timestamp_may_be_written_in_many_ways(api: RestApi, written: Any) -> None:
    api.items = [{"id": 1, "t": written}]
    with run(api, "all", http_record_timestamp="t") as source:
        assert [record.timestamp for record in source.poll_until(1)] == [1_767_225_600_000]


def test_keys_and_timestamps_come_from_records(api: RestApi) -> None:
    api.items = [{"a": {"id": 7}, "b": "x", "t": t} for t in ("2026-01-01T00:00:00Z", 1_767_225_600, 1.7672256e12, "?")]
    with run(api, "all", http_record_key="/a/id", http_record_timestamp="t") as source:
        records = source.poll_until(4)[:4]
        assert [record.key for record in records] == [7] * 4
        assert [record.timestamp for record in records] == [1_767_225_600_000] * 3 + [None]
    with run(api, "all", http_record_key="a.id,b") as source:
        assert source.poll_until(1)[0].key == {"a.id": 7, "b": "x"}


def test_urls_are_shared_out_among_the_tasks(api: RestApi) -> None:
    url = f"{api.url}/all?n=1,{api.url}/all?n=2, {api.url}/all?n=3"
    with run(api, "all", http_url=url, tasks_max="2", poll_interval_ms="60000") as source:
        assert len(source.tasks) == 2
        source.poll_until(75)
        assert {record.source_partition["url"][-1] for record in source.records} == {"1", "2", "3"}


def test_a_sequence_of_json_texts_is_read_as_lines_are(api: RestApi) -> None:
    """Each begins with a record separator: RFC 7464."""
    texts = b'\x1e{"id": 1}\n\x1e{"id": 2}\n'
    api.script = [Answer(200, {"Content-Type": "application/json-seq"}, texts)]
    with run(api, "all") as source:
        source.poll_until(2)
        assert values(source)[:2] == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_a_text_that_was_cut_within_an_emoji_is_read(api: RestApi, kind: str) -> None:
    cut = rb'{"at": 1, "text": "cut \ud83d"}'
    body = b"[%b]" % cut if kind == "application/json" else cut + b"\n"
    api.script = [Answer(200, {"Content-Type": kind}, body)]
    converters = {"value_converter": "JsonConverter", "value_converter_schemas_enable": "false"}
    with run(api, "all", **NEW_FIELD, **converters, key_converter="StringConverter") as source:
        source.poll_until(1)
        assert source.messages[0].value == b'{"at":1,"text":"cut \\uD83D"}'


def test_a_packed_answer_is_read(api: RestApi) -> None:
    api.script = [Answer(200, {"Content-Encoding": "gzip"}, gzip.compress(json.dumps(api.items).encode()))]
    with run(api, "all") as source:
        source.poll_until(25)
        assert values(source)[:25] == api.items


def test_one_record_and_none(api: RestApi) -> None:
    api.script = [
        Answer(204),
        Answer(200, {}, b"{}"),
        Answer(200, {}, b"[]"),
        Answer(200, {}, b'{"data":{"items":{"one":1}}}'),
    ]
    with run(api, "cursor") as source:
        assert source.poll_until(1)[0].value == {"one": 1}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(200, {}, b"<html>"), "The answer is not JSON.*Check http.url and http.response.format"),
        (Answer(200, {"Content-Type": "application/x-ndjson"}, b"{}\n{"), "a line that is not JSON"),
        (Answer(401), "401 Unauthorized.*Check the login"),
        (Answer(404), "404 Not Found"),
    ],
)
def test_what_does_not_pass_fails_the_task(api: RestApi, answer: Answer, why: str) -> None:
    api.script = [answer]
    with pytest.raises(ConnectError, match=why), run(api, "all") as source:
        source.poll_until(1)


def test_a_login_in_the_url_is_neither_sent_nor_stored(api: RestApi) -> None:
    url = api.url.replace("://", "://me:s3cret@")
    with run(api, "all", http_url=f"{url}/all") as source:
        (record, *_) = source.poll_until(1)
        assert record.source_partition == {"url": f"{api.url}/all"}
        assert "authorization" not in api.requests[0].headers


@pytest.mark.parametrize("path", ["link", "next"])
def test_a_token_in_the_url_is_sent_and_not_stored_and_may_change(api: RestApi, path: str) -> None:
    """Also where the server writes it into the address of the next page."""
    url = f"{api.url}/{path}?n=1&access_token="
    with run(api, path, http_url=f"{url}s3cret") as source:
        records = source.poll_until(25)
    assert {record.source_partition["url"] for record in records} == {f"{url}[hidden]"}
    assert "s3cret" not in str([record.source_offset for record in records])
    done = records[14]
    del api.requests[:]
    with run(api, path, [(done.source_partition, done.source_offset)], http_url=f"{url}renewed") as again:
        again.poll_until(10)
        assert values(again)[:10] == api.items[15:]
    assert {seen.query["access_token"] for seen in api.requests} == {"renewed"}


def test_urls_that_differ_by_their_secrets_have_positions_of_their_own() -> None:
    one, two, three = "https://h/a?api_key=1&x=", "https://h/a?api_key=2&x=", "https://h/a"
    found = partitions([one, two, three])
    assert found[three] == {"url": three}
    assert found[one] != found[two] != found[three]
    assert all(each["url"].startswith("https://h/a?api_key=[hidden]&x=#") for each in (found[one], found[two]))


def test_stopping_does_not_wait_for_a_server_that_hangs(api: RestApi) -> None:
    api.script = [HANG]
    with run(api, "all") as source:
        source.poll()
        began = time.monotonic()
    assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("limit", ["the key's", "the server's"])
def test_urls_of_one_server_share_its_limits(api: RestApi, limit: str) -> None:
    url = f"{api.url}/all?n=1,{api.url}/all?n=2,{api.url}/all?n=3"
    more = {"http_requests_per_second": "4"} if limit == "the key's" else {}
    if not more:
        api.script = [Answer(429, {"Retry-After": "3600"})]
    with run(api, "all", http_url=url, poll_interval_ms="60000", **more) as source:
        began = time.monotonic()
        for _ in range(3):
            with suppress(RetriableError):
                source.poll()
        if more:
            assert time.monotonic() - began > 0.45
    assert len(api.requests) == (3 if more else 1)


def test_what_has_an_order() -> None:
    assert compared(10, "9") > 0
    assert compared("10", "9.5") > 0
    assert compared("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00") == 0
    assert compared("2026-01-01T00:00:00.5", "2026-01-01T00:00:00Z") > 0
    assert compared("b", "a") > 0
    assert compared("507111778896869799439011", "507f1f77bcf86cd799439011") < 0  # ids of MongoDB, one without a letter
    assert compared("9f", "10") > 0
    for one, other in ((1, "a"), (True, 1), ({}, 1), ("2026-01-01", 5), ("10", "latest"), ("2026-01-01", "now")):
        with pytest.raises(ConnectError, match="http.offset.field"):
            compared(one, other)


def test_a_position_is_what_its_offset_says() -> None:
    url = "https://h/a?token=x"
    position = Position.of(None, "5", url).with_record(7, digest({"a": 1})).at(3, "abc")
    assert Position.of(position.offset(url), None, url) == position
    ended = position.on(None)
    assert Position.of(ended.offset(url), None, url) == ended
    assert ended.cursor == 7


@pytest.mark.parametrize(
    ("changes", "key", "why"),
    [
        ({"http.url": "ftp://h/"}, "http.url", "Write https://host/path"),
        ({"http.url": "http://h/,http://h/"}, "http.url", "twice"),
        ({"http.url": "http://h/${offset.at}"}, "http.offset.field", "stands for it"),
        ({"http.offset.parameter": "since"}, "http.offset.field", "is missing"),
        ({"http.pagination": "cursor"}, "http.pagination.field", "needs it"),
        ({"http.pagination": "page", "http.pagination.size": "5"}, "http.pagination.size.parameter", "belong together"),
        ({"http.body": "{}"}, "http.body", "http.method=POST"),
        ({"http.authorization.type": "oauth2"}, "oauth2.client.id", "needs it"),
        ({"http.authorization.type": "basic"}, "http.password", "needs it"),
        ({"http.headers.authorization": "x"}, "http.headers.authorization", "static or apikey"),
        ({"http.username": "me", "http.password": "x"}, "http.username", "http.authorization.type=basic"),
        ({"http.username": "me", "http.password": "x"}, "http.password", "http.authorization.type=basic"),
        ({"http.authorization.header": "X-Key"}, "http.authorization.header", "static or apikey"),
        (
            {"http.authorization.type": "basic", "http.authorization.header": "X-Key"},
            "http.authorization.header",
            "static or apikey",
        ),
        (
            {"http.authorization.type": "oauth2", "http.authorization.class": "vault:Login"},
            "http.authorization.class",
            "static or apikey",
        ),
        ({"http.proxy.host": "h"}, "http.proxy.port", "belong together"),
        ({"http.headers.additional": "a:b,A:c"}, "http.headers.additional", "twice"),
        ({"http.headers.additional": "nothing"}, "http.headers.additional", "name:value"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(changes: dict[str, str], key: str, why: str) -> None:
    written = {"http.url": "http://h/", "topic": "t", **changes}
    assert why in errors(written)[key]
    with pytest.raises(ConfigError):
        SourceRun(HttpSourceConnector, written).start()


def test_a_configuration_with_castorm_s_names_is_understood() -> None:
    written = {
        "http.request.url": "https://issues.example/search",
        "http.request.headers": "Accept:application/json",
        "kafka.topic": "issues",
        "http.auth.type": "Basic",
        "http.auth.user": "me",
        "http.auth.password": "x",
        "http.timer.interval.millis": "5000",
        "http.response.list.pointer": "/issues",
    }
    assert errors(written) == {}
    parsed = HttpSourceConnector.settings.parse(written)
    assert parsed["poll.interval.ms"] == 5000
    assert parsed["http.records.path"] == "/issues"


def test_offsets_that_a_user_sets_are_checked() -> None:
    connector = HttpSourceConnector()
    key = (("url", "http://h/"),)
    for offset in ({"cursor": 5}, None):
        assert connector.alter_offsets({}, {key: offset})
    for offset in ({"position": 5}, {"cursor": []}, {"page": 1.5}, {"seen": "x"}):
        with pytest.raises(ConnectError, match="is wrong"):
            connector.alter_offsets({}, {key: offset})
    with pytest.raises(ConnectError, match="A source partition"):
        connector.alter_offsets({}, {(("file", "a"),): {"cursor": 5}})
