"""The kit's client of REST APIs: logins, rate limits, retries, redirections, and what a message shows."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from connect import ConnectError, RetriableError
from connect.http import Answer as Answered
from connect.kit import (
    Answer,
    ClientCredentials,
    Cursor,
    HeaderLogin,
    LinkHeader,
    NextUrl,
    OffsetLimit,
    PageNumber,
    Pages,
    RateLimit,
    Request,
    RestClient,
    RestError,
    RetryBudget,
    bearer,
    json_of,
    logins,
    user_and_password,
    value_at,
)
from connect.kit.pages import next_link, with_parameters
from connect.kit.rates import retry_after
from tests.servers.rest_api import CUT, HANG, RestApi, rest_api
from tests.servers.rest_api import Answer as Said
from tests.support.open_files import many_open_files


@pytest.fixture
def api() -> Iterator[RestApi]:
    with rest_api() as server:
        server.items = [{"id": n, "at": n} for n in range(25)]
        yield server


@pytest.fixture
def client(api: RestApi) -> Iterator[Callable[..., RestClient]]:
    made: list[RestClient] = []

    def make(**options: Any) -> RestClient:
        made.append(RestClient(api.url, **{"proxy": lambda _: None, **options}))
        return made[-1]

    yield make
    for each in made:
        each.close()


def asked(client: RestClient, request: Request) -> Answered:
    """As a task asks: again and again."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if (answer := client.ask(request)) is not None:
                return answer
        except RetriableError:
            pass
    raise AssertionError("no answer in 20 s")


@pytest.mark.parametrize(
    ("path", "pages"),
    [
        ("link", LinkHeader()),
        ("next", NextUrl("/meta/next")),
        ("cursor", Cursor("meta.cursor", "cursor")),
        ("page", PageNumber("page", size=10)),
        ("page", PageNumber("page", size=7, size_parameter="limit")),
        ("offset", OffsetLimit(limit=6)),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 10, 20, 25])
def test_all_pages_are_read(
    api: RestApi, client: Callable[..., RestClient], path: str, pages: Pages, count: int
) -> None:
    del api.items[count:]
    asking, found, page = client(), [], None
    while True:
        request = pages.request(Request(f"{api.url}/{path}?of=all"), page)
        answer = asking.send(request)
        document = json_of(answer)
        records = document if path == "link" else document["data"]["items"]
        found += records
        assert api.requests[-1].query["of"] == "all"
        page = pages.after(page, request, answer, document, len(records))
        if page is None:
            break
    assert found == api.items
    assert api.connections == 1, "the connection is kept"


def test_a_cursor_goes_into_the_body_of_a_post(api: RestApi, client: Callable[..., RestClient]) -> None:
    pages = Cursor("/meta/cursor", "cursor")
    first = Request(f"{api.url}/search", "POST", b'{"q":"x"}')
    answer = client().send(first)
    page = pages.after(None, first, answer, json_of(answer), 10)
    assert pages.request(first, page).body == b'{"q":"x","cursor":"c10"}'


@pytest.mark.parametrize("pages", [LinkHeader(), NextUrl("next")])
def test_a_page_of_another_server_is_not_asked_for(pages: Pages) -> None:
    answer = Answer(200, [("Link", "<https://evil.example/2>; rel=next")], b"")
    with pytest.raises(RestError, match=r"another server, https://evil\.example, which is not shown its login"):
        pages.after(None, Request("https://good.example/1"), answer, {"next": "https://evil.example/2"}, 1)


def test_a_page_that_leads_to_itself_is_an_error() -> None:
    with pytest.raises(RestError, match="the same page"):
        Cursor("c", "c").after("x", Request("https://good.example/"), Answer(200, [], b""), {"c": "x"}, 1)
    with pytest.raises(RestError, match="the same page"):
        NextUrl("n").after("/1", Request("https://h/1"), Answer(200, [], b""), {"n": "https://h/1"}, 1)


@pytest.mark.parametrize(
    ("links", "found"),
    [
        ('<https://a/?b=1,2>; rel="next"', "https://a/?b=1,2"),
        ('<a>; rel="prev", <b>; title="x; rel=next"; rel="next last"', "b"),
        ("<a>;rel=Next", "a"),
        ('<a>; rel="nextish"', None),
        ("", None),
    ],
)
def test_a_link_header_is_read(links: str, found: str | None) -> None:
    assert next_link(links) == found


def test_values_are_found_by_pointers_and_by_dots() -> None:
    document = {"a": [{"b/c": 1, "d~": 2}], "e": {"f": None}}
    assert value_at(document, "/a/0/b~1c") == 1
    assert value_at(document, "/a/0/d~0") == 2
    assert value_at(document, "a.0.d~") == 2
    assert value_at(document, "") is document
    for nothing in ("/a/1", "/a/x", "e.f.g", "/z", "/a/-1"):
        assert value_at(document, nothing) is None


def test_parameters_replace_those_of_the_same_name() -> None:
    request = with_parameters(Request("https://h/p?a=1&b=&c=x%20y"), {"a": "2&3"})
    assert request.url == "https://h/p?b=&c=x%20y&a=2%263"


def test_other_parameters_stay_as_they_are_written() -> None:
    written = "flag&name=caf%E9&filter[a]=1,2&p%61ge=7&$top=5&page=8"
    for page in (1, 2):
        request = with_parameters(Request(f"https://h/p?{written}"), {"page": page})
        assert request.url == f"https://h/p?flag&name=caf%E9&filter[a]=1,2&$top=5&page={page}"
    assert with_parameters(Request("https://h/p?page=1"), {}).url == "https://h/p?page=1"
    assert with_parameters(Request("https://h/p"), {"page": 1}).url == "https://h/p?page=1"


@pytest.mark.parametrize("in_body", [False, True])
def test_a_token_is_asked_for_once_and_again_after_401(
    api: RestApi, client: Callable[..., RestClient], in_body: bool
) -> None:
    api.by_token = True
    login = ClientCredentials(f"{api.url}/token", "me", "s3cret", in_body=in_body, scope="all", proxy=lambda _: None)
    asking = client(login=login)
    for _ in range(3):
        asking.send(Request(f"{api.url}/all"))
    assert api.tokens == 1
    assert b"scope=all" in api.requests[0].body
    api.tokens = 7  # somebody has made the token worthless
    asking.send(Request(f"{api.url}/all"))
    assert api.tokens == 8


def test_a_token_is_renewed_before_it_expires(
    api: RestApi, client: Callable[..., RestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.by_token, api.token_life = True, 100
    asking = client(login=ClientCredentials(f"{api.url}/token", "me", "s3cret", proxy=lambda _: None))
    asking.send(Request(f"{api.url}/all"))
    now = time.monotonic()
    monkeypatch.setattr(logins, "time", SimpleNamespace(monotonic=lambda: now + 81))
    asking.send(Request(f"{api.url}/all"))
    assert [seen.path for seen in api.requests] == ["/token", "/all", "/token", "/all"], "without a 401 between"


def test_threads_that_share_a_token_have_it_renewed_once(api: RestApi, client: Callable[..., RestClient]) -> None:
    api.by_token = True
    asking = client(login=ClientCredentials(f"{api.url}/token", "me", "s3cret", proxy=lambda _: None))
    asking.send(Request(f"{api.url}/all"))
    api.tokens, api.pause = 7, 0.05
    threads = [threading.Thread(target=asking.send, args=(Request(f"{api.url}/all"),)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert api.tokens == 8


def test_a_wrong_secret_is_refused_and_not_shown(api: RestApi, client: Callable[..., RestClient]) -> None:
    login = ClientCredentials(f"{api.url}/token", "me", "wr0ng-51x", proxy=lambda _: None)
    with pytest.raises(RestError, match="Check the client id, its secret and the scope") as raised:
        client(login=login).send(Request(f"{api.url}/all"))
    assert not raised.value.passing
    assert "wr0ng" not in str(raised.value)


@pytest.mark.parametrize(
    "login", [bearer("t0ken-51x"), user_and_password("me", "t0ken-51x"), HeaderLogin("X-API-Key", "t0ken-51x")]
)
def test_a_refused_login_fails_and_no_message_shows_it(
    api: RestApi, client: Callable[..., RestClient], login: HeaderLogin
) -> None:
    api.authorization = "another"
    with pytest.raises(RestError, match=r"answers 401 Unauthorized to GET") as raised:
        client(login=login).send(Request(f"{api.url}/all?key=qu3ry"))
    for secret in ("t0ken", "qu3ry", *login.headers().values()):
        assert secret.rpartition(" ")[2] not in str(raised.value)
    assert len(api.requests) == 1


def test_a_secret_of_the_query_is_not_shown_where_the_server_tells_it(
    api: RestApi, client: Callable[..., RestClient]
) -> None:
    api.script = [Said(400, {}, b'{"error": "api_key 51x+s3cret is not known, nor 51x%2Bs3cret"}')]
    with pytest.raises(RestError, match="is not known") as raised:
        client().send(Request(f"{api.url}/all?api_key=51x%2Bs3cret"))
    assert "s3cret" not in str(raised.value)


def test_a_login_from_a_class_is_asked_again_after_401(api: RestApi, client: Callable[..., RestClient]) -> None:
    api.authorization = "new"
    given = iter(["old", "new", "new"])
    assert client(login=HeaderLogin("Authorization", lambda: next(given))).send(Request(f"{api.url}/all")).status == 200


def test_a_login_may_end_with_a_line_feed(api: RestApi, client: Callable[..., RestClient]) -> None:
    api.authorization = "Bearer t0ken-51x"
    for login in (bearer("t0ken-51x\n"), HeaderLogin("Authorization", lambda: "Bearer t0ken-51x\n")):
        assert client(login=login).send(Request(f"{api.url}/all")).status == 200


def test_a_login_that_no_header_can_have_is_not_shown(api: RestApi, client: Callable[..., RestClient]) -> None:
    for secret in ("t0ken\n51x", "t0ken\u201351x"):
        with pytest.raises(RestError, match="the header Authorization, has a character that no header can") as raised:
            client(login=bearer(secret)).send(Request(f"{api.url}/all"))
        assert "t0ken" not in str(raised.value)
        assert not raised.value.passing
    assert api.requests == []


def test_a_header_is_sent_once_however_its_name_is_written(api: RestApi, client: Callable[..., RestClient]) -> None:
    asking = client(headers={"user-agent": "shop", "content-type": "text/plain", "X-One": "1"})
    asking.send(Request(f"{api.url}/hook", "POST", b"a", {"Content-Type": "application/json"}))
    headers = api.requests[0].headers
    assert (headers["user-agent"], headers["content-type"], headers["x-one"]) == ("shop", "application/json", "1")


def test_a_redirection_is_followed_within_the_server_only(api: RestApi, client: Callable[..., RestClient]) -> None:
    asking = client(login=bearer("t0ken"))
    api.script = [Said(302, {"Location": "/all?moved=1"})]
    assert json_of(asking.send(Request(f"{api.url}/old"))) == api.items
    with rest_api() as other:
        api.script = [Said(302, {"Location": f"{other.url}/all"})]
        with pytest.raises(RestError, match="write the address that it leads to"):
            asking.send(Request(f"{api.url}/old"))
        assert other.requests == []
        with pytest.raises(RestError, match="is not shown its login"):
            asking.send(Request(f"{other.url}/all"))
        assert other.requests == []


@pytest.mark.parametrize("pages", [LinkHeader(), NextUrl("next")], ids=["link", "next-url"])
def test_a_relative_next_page_is_relative_to_where_a_redirection_led_to(
    api: RestApi, client: Callable[..., RestClient], pages: Pages
) -> None:
    further = Said(200, {"Link": '<page?n=2>; rel="next"'}, b'{"next": "page?n=2"}')
    api.script = [Said(302, {"Location": "/v2/items/page"}), further, further]
    request = Request(f"{api.url}/old")
    answer = client().send(request)
    page = pages.after(None, request, answer, json_of(answer), 1)
    assert page == f"{api.url}/v2/items/page?n=2"
    with pytest.raises(RestError, match="the same page"):
        pages.after(page, Request(page), client().send(Request(page)), {"next": "page?n=2"}, 1)


@pytest.mark.parametrize(
    ("method", "location", "told"),
    [
        ("GET", "https://other.example/new/t0ken?key=k3y", r"leads to https://other\.example/new/\[hidden\]\. "),
        ("POST", "/new/hook?key=k3y", r"leads to http://127\.0\.0\.1:\d+/new/hook\. A POST is not redirected"),
        ("GET", "/round", r"leads to http://127\.0\.0\.1:\d+/round, after 5 redirections"),
        ("GET", "http://h:port/", r"does not say where that is"),
        ("GET", "", r"does not say where that is"),
    ],
)
def test_a_redirection_that_is_not_followed_says_where_it_leads_to(
    api: RestApi, client: Callable[..., RestClient], method: str, location: str, told: str
) -> None:
    api.script = [Said(302, {"Location": location})] * 5
    with pytest.raises(RestError, match=told) as raised:
        client(login=bearer("t0ken")).send(Request(f"{api.url}/old", method))
    assert "k3y" not in str(raised.value)


def test_redirections_have_an_end_and_posts_are_not_redirected(api: RestApi, client: Callable[..., RestClient]) -> None:
    api.script = [Said(302, {"Location": "/round"})] * 50
    with pytest.raises(RestError, match="302 Found"):
        client().send(Request(f"{api.url}/round"))
    assert len(api.requests) == 5
    with pytest.raises(RestError, match="302 Found"):
        client().send(Request(f"{api.url}/round", "POST", b"x"))
    assert len(api.requests) == 6


def test_an_answer_that_is_too_long_is_none(api: RestApi, client: Callable[..., RestClient]) -> None:
    api.script = [Said(200, {}, b"x" * 2000)]
    with pytest.raises(RestError, match="longer than 1000 bytes") as raised:
        client(most_bytes=1000).send(Request(f"{api.url}/all"))
    assert not raised.value.passing


def test_connections_are_kept_in_a_process_with_more_than_a_thousand_files_open(
    api: RestApi, client: Callable[..., RestClient]
) -> None:
    with many_open_files():
        shop = client()
        for _ in range(2):
            assert json_of(shop.send(Request(f"{api.url}/items"))) is not None


def test_a_connection_that_the_server_closed_meanwhile_is_made_anew(
    api: RestApi, client: Callable[..., RestClient]
) -> None:
    asking = client()
    api.script = [None, Said(200, {"Connection": "close"}, b"[]"), None]
    for _ in range(3):
        asking.send(Request(f"{api.url}/all"))
    assert api.connections == 2
    assert len(api.requests) == 3


# What `ask` does.


@pytest.mark.parametrize("failure", [Said(503), Said(429), Said(500), CUT])
def test_what_fails_in_passing_is_asked_again(
    api: RestApi, client: Callable[..., RestClient], failure: Said | str
) -> None:
    api.script = [failure, failure]
    asking = client(retries=RetryBudget(5, 0.01))
    assert json_of(asked(asking, Request(f"{api.url}/all"))) == api.items
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 100\r\n\r\n[]",
        *(f"Transfer-Encoding: chunked\r\n\r\n{cut}" for cut in ("2\r\n[]\r\n", "9\r\n[]")),
    ],
    ids=["length", "between chunks", "within a chunk"],
)
def test_an_answer_that_is_cut_off_fails_in_passing(head: str) -> None:
    def answer(listening: socket.socket) -> None:
        connected, _ = listening.accept()
        with connected:
            connected.recv(65536)
            connected.sendall(f"HTTP/1.1 200 OK\r\n{head}".encode())

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, args=(listening,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        asking = RestClient(url, proxy=lambda _: None)
        with pytest.raises(RestError) as raised:
            asking.send(Request(url))
        asking.close()
        thread.join()
    assert raised.value.passing


def test_an_answer_that_is_longer_than_allowed_and_cut_off_is_not_taken(
    api: RestApi, client: Callable[..., RestClient]
) -> None:
    api.script = [CUT]
    with pytest.raises(RestError, match="longer than 50 bytes"):
        client(most_bytes=50).send(Request(f"{api.url}/all"))


def test_it_is_given_up_after_max_retries(api: RestApi, client: Callable[..., RestClient]) -> None:
    api.script = [Said(503)] * 9
    with pytest.raises(ConnectError, match=r"answers 503 .* Given up after 2 retries \(max\.retries\)"):
        asked(client(retries=RetryBudget(2, 0.0)), Request(f"{api.url}/all"))
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "1"}, {"RateLimit-Remaining": "0", "RateLimit-Reset": "1"}], ids=["after", "reset"]
)
def test_a_server_that_asks_for_a_pause_has_it(
    api: RestApi, client: Callable[..., RestClient], headers: dict[str, str]
) -> None:
    api.script = [Said(429, headers)]
    began = time.monotonic()
    asked(client(retries=RetryBudget(1, 0.0)), Request(f"{api.url}/all"))
    assert time.monotonic() - began > 0.9


def test_a_limit_that_is_used_up_is_kept_to_also_after_success(api: RestApi, client: Callable[..., RestClient]) -> None:
    api.script = [Said(200, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"}, b"[]")]
    asking = client()
    asked(asking, Request(f"{api.url}/all"))
    with pytest.raises(RetriableError, match=r"allows the next request in \d+ s") as raised:
        asking.ask(Request(f"{api.url}/all"))
    assert raised.value.waits_for == api.url
    assert len(api.requests) == 1


def test_what_times_mean() -> None:
    now = {"date": "Fri, 27 Nov 2026 00:00:00 GMT"}
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after": "Fri, 27 Nov 2026 00:00:09 GMT", **now}) == 9
    assert retry_after({"retry-after": "Thu, 26 Nov 2026 00:00:09 GMT", **now}) == 0
    assert retry_after({"retry-after": "999999999"}) == 3600
    assert retry_after({"retry-after": "soon"}) == retry_after({}) == 0
    beyond = "Fri, 27 Nov 20260000000000000000 00:00:00 GMT"
    assert retry_after({"retry-after": beyond}) == 0
    assert 0 < retry_after({"retry-after": "Fri, 27 Nov 2099 00:00:00 GMT", "date": beyond}) <= 3600
    limit = RateLimit()
    epoch = 1_795_737_600  # of `now`
    for reset, seconds in (
        (str(epoch + 5), 5),
        (str((epoch + 6) * 1000), 6),
        ("8", 8),
        ("x", 0),
        ("-4", 0),
        ("nan", 0),
    ):
        said = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset, **now}
        assert limit.seen(200, said) == pytest.approx(seconds), reset
    assert limit.seen(200, {"x-ratelimit-remaining": "1", "x-ratelimit-reset": "9"}) == 0
    assert limit.seen(500, {"retry-after": "9"}) == 0


def test_requests_per_second_are_kept_apart() -> None:
    limit = RateLimit(per_second=10)
    assert limit.turn() == 0
    assert 0.05 < limit.turn() <= 0.1


def test_a_task_that_is_to_end_does_not_wait_for_a_server_that_hangs(
    api: RestApi, client: Callable[..., RestClient]
) -> None:
    api.script = [HANG]
    stopping = threading.Event()
    asking = client(stopping=stopping.is_set)
    request = Request(f"{api.url}/all")
    assert asking.ask(request) is None
    assert len(api.requests) == 1
    threading.Timer(0.1, stopping.set).start()
    began = time.monotonic()
    assert asking.ask(request) is None
    assert time.monotonic() - began < 0.6
    assert len(api.requests) == 1, "it waits for the same answer"
    with pytest.raises(ValueError, match="Another request"):
        asking.ask(Request(f"{api.url}/other"))


def test_closing_wakes_who_waits_for_an_answer(api: RestApi, client: Callable[..., RestClient]) -> None:
    api.script = [HANG]
    asking = client()
    errors: list[Exception] = []

    def ask() -> None:
        try:
            asking.send(Request(f"{api.url}/all"))
        except RestError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not api.requests:
        time.sleep(0.01)
    asking.close()
    thread.join(5)
    assert len(errors) == 1
