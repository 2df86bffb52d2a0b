"""Before anybody is asked who they are: for whom a request is, whose page sent it, where it ends, what proxies say."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from connect.errors import ConfigError
from connect.herder.listeners import bind, parse_listeners
from connect.plugins import Plugins
from connect.settings.worker_keys import STANDALONE
from rest.app import create_app
from rest.edge import LOOPBACK, Edge, Hosts, Origins, OtherOrigins, Proxies
from rest.server import RestServer, Site
from tests.support.attacks import post, raw

from .conftest import LEAST
from .fake_herder import FakeHerder

SETTINGS = {
    **LEAST,
    "rest.advertised.host.name": "connect.example",
    "rest.allowed.hosts": "ui.example, *.dev.example",
    "access.control.allow.origin": "http://ui.example:3000",
}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where a worker answers that listens on this machine alone."""
    bound = bind(parse_listeners(["http://127.0.0.1:0"]))
    settings = {**SETTINGS, "listeners": str(bound[0].listener)}
    herder = FakeHerder()
    herder.configs["a1"] = {"name": "a1", "connector.class": "Known"}

    def app(parts: Any) -> Any:
        return create_app(herder, Plugins.discover(), STANDALONE.parse(settings), settings, parts=parts)

    server = RestServer([Site(frozenset({"connectors"}), bound, "")], settings, app)
    server.start()
    assert server.wait(30)
    yield bound[0].listener.port
    server.stop(10)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8083", "localhost.evil.example", "10.0.0.1", "", "[::2]"]
)
def test_a_name_that_is_not_the_workers_is_refused(port: int, host: str) -> None:
    status, answer = raw(port, f"GET /connectors HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert status == 421
    assert b"rest.allowed.hosts" in answer


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST:1", "localhost.", "127.0.0.1:8083", "127.1.2.3", "[::1]:8083", "[::ffff:127.0.0.1]"),
        *("connect.example", "ui.example", "a.b.dev.example"),
    ],
)
def test_the_workers_names_are_answered(port: int, host: str) -> None:
    assert raw(port, f"GET /connectors HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())[0] == 200


def test_a_probe_that_speaks_http_1_0_needs_no_name(port: int) -> None:
    assert raw(port, b"GET /health HTTP/1.0\r\n\r\n")[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "http://", "localhost", "\xe4"]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_page_of_another_site_changes_nothing(port: int, origin: str, method: str) -> None:
    request = f"{method} /connectors/a1/restart HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: {origin}\r\n\r\n"
    status, answer = raw(port, request.encode("latin-1"))
    assert status == 403
    assert b"access.control.allow.origin" in answer


@pytest.mark.parametrize("origin", ["", "Origin: http://localhost:{}\r\n", "Origin: http://ui.example:3000\r\n"])
def test_its_own_pages_those_allowed_and_programs_may(port: int, origin: str) -> None:
    request = f"POST /connectors/a1/restart HTTP/1.1\r\nHost: localhost:{port}\r\n{origin.format(port)}"
    assert raw(port, f"{request}Content-Length: 0\r\n\r\n".encode())[0] == 204


def test_what_reads_may_come_from_any_page(port: int) -> None:
    request = b"GET /connectors HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n"
    status, answer = raw(port, request)
    assert status == 200
    assert b"access-control-allow-origin" not in answer.lower()


@pytest.mark.parametrize(
    "head",
    [
        b"POST /connectors HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        b"POST /connectors HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /connectors HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_where_readers_may_not_agree_the_connection_ends(port: int, head: bytes) -> None:
    smuggled = b"GET /connectors HTTP/1.1\r\nHost: localhost\r\n\r\n"
    status, answer = raw(port, head + b"0\r\n\r\n" + smuggled)
    assert status == 400
    assert b"connection: close" in answer.lower()
    assert answer.count(b"HTTP/1.1") == 1


def test_one_of_both_is_right(port: int) -> None:
    head = b"PUT /connectors/a1/pause HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    status, answer = raw(port, head)
    assert status == 202
    assert b"connection: close" not in answer.lower()


def test_a_body_that_is_said_to_be_too_large_is_answered_at_once(port: int) -> None:
    assert raw(port, post("/connectors", {}, 2**40))[0] == 413


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://localhost/connectors", "localhost", 200),
        ("HTTP://localhost:8083/connectors/a1?x=http://y/z", "localhost:8083", 200),
        ("https://localhost", "localhost", 200),
        ("http://localhost?x", "localhost", 200),
        ("http://localhost/connectors", "evil.example", 200),  # the name in the URL counts
        ("http://evil.example/connectors", "localhost", 421),
        ("ftp://localhost/connectors", "localhost", 404),
    ],
)
def test_a_request_may_have_the_whole_url_as_proxies_get_it(port: int, target: str, host: str, status: int) -> None:
    assert raw(port, f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())[0] == status


def test_a_slash_in_a_name_stays_part_of_it_in_a_whole_url(port: int) -> None:
    status, answer = raw(port, b"GET http://localhost/connectors/a%2F1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (status, b"Connector a/1 not found" in answer) == (404, True)


def test_many_refusals_are_one_line(port: int, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(20):
        raw(port, f"GET / HTTP/1.1\r\nHost: evil{number}.example\r\n\r\n".encode())
    found = [record for record in caplog.records if "refused" in record.getMessage()]
    assert len(found) <= 1


def test_on_other_listeners_every_name_is_the_workers() -> None:
    hosts = Hosts.of({"listeners": "http://:8083,http://worker.example:8084"}, [])
    headers = [(b"host", b"evil.example")]
    assert hosts.refusal({"headers": headers}) is None
    assert hosts.refusal({"headers": headers, LOOPBACK: True}) is not None
    assert hosts.known("worker.example:8084")
    assert Hosts(["*"]).known("evil.example")


@pytest.mark.parametrize(
    ("origin", "host", "may"),
    [
        ("https://connect.example", "connect.example", True),
        ("https://connect.example", "connect.example:443", True),
        ("http://Connect.Example", "connect.example", True),
        ("http://[::1]:8083", "[::1]:8083", True),
        ("https://connect.example", "connect.example:8443", False),
        ("http://connect.example:8083", "connect.example:8084", False),
        ("http://connect.example@evil.example", "connect.example", False),
        ("http://connect.example.evil.example", "connect.example", False),
        ("chrome-extension://connect.example", "connect.example", False),
        ("http://a:x", "a:x", False),
        ("", "", False),
    ],
)
def test_a_page_is_its_own_by_host_and_port(origin: str, host: str, may: bool) -> None:
    scope = {"method": "POST", "headers": [(b"host", host.encode()), (b"origin", origin.encode())]}
    assert (Origins(OtherOrigins("")).refusal(scope) is None) is may
    assert Origins(OtherOrigins("*")).refusal(scope) is None
    assert (Origins(OtherOrigins(origin)).refusal(scope) is None) is bool(origin)


def test_what_is_longer_than_an_origin_is_not_compared_with_patterns() -> None:
    origins = OtherOrigins(r"https://.*a.*b.*\.example\.com")
    assert "https://ab.example.com" in origins
    assert f"https://{'ab' * 20_000}.example.com" not in origins  # which would take hours where it does not match


def test_every_origin_of_a_request_has_to_be_allowed() -> None:
    both = [(b"host", b"a"), (b"origin", b"http://a"), (b"origin", b"http://evil.example")]
    assert Origins(OtherOrigins("")).refusal({"method": "POST", "headers": both}) is not None


Seen = Callable[..., tuple[str, str, str]]


@pytest.fixture
def seen() -> Seen:
    """Address, scheme and host of a request, as a worker sees it that trusts these proxies."""

    def see(trusted: str, client: str, **headers: str) -> tuple[str, str, str]:
        sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"client": (client, 1), "scheme": "http", "headers": [(b"host", b"worker"), *sent]}
        found = Proxies(filter(None, trusted.split(","))).seen_through(scope)
        (host,) = [value.decode() for name, value in found["headers"] if name == b"host"]
        return found["client"][0], found["scheme"], host

    return see


ALL = {"x_forwarded_for": "203.0.113.9", "x_forwarded_proto": "https", "x_forwarded_host": "public.example"}


@pytest.mark.parametrize("client", ["127.0.0.1", "10.0.0.7", "::1", "unknown", ""])
def test_nobody_is_believed_whom_the_configuration_does_not_name(seen: Seen, client: str) -> None:
    assert seen("", client, **ALL) == (client, "http", "worker")
    assert seen("192.0.2.1,192.0.3.0/24", client, **ALL) == (client, "http", "worker")


@pytest.mark.parametrize("trusted", ["10.0.0.7", "10.0.0.0/24", "2001:db8::/48,10.0.0.7"])
def test_a_proxy_that_is_named_says_for_whom_it_asks(seen: Seen, trusted: str) -> None:
    expected = ("203.0.113.9", "https", "public.example")
    assert seen(trusted, "10.0.0.7", **ALL) == expected
    assert seen(trusted, "::ffff:10.0.0.7", **ALL) == expected


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("1.2.3.4, 203.0.113.9", "203.0.113.9"),  # what the client made up stands before
        ("203.0.113.9, 10.0.0.8", "203.0.113.9"),  # a chain of them
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8::9]:4711", "2001:db8::9"),
        ("1.2.3.4, unknown, 10.0.0.8", "10.0.0.8"),
        ("nonsense", "10.0.0.7"),
        ("10.0.0.9, 10.0.0.8", "10.0.0.9"),
    ],
)
def test_of_a_chain_the_last_that_is_not_named_counts(seen: Seen, said: str, found: str) -> None:
    assert seen("10.0.0.0/24", "10.0.0.7", x_forwarded_for=said)[0] == found


@pytest.mark.parametrize("wrong", ["proxy.example", "10.0.0.7/8", "10.0.0.0/33", "*"])
def test_a_proxy_is_named_by_address(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"rest\.forwarded\.allow\.ips.*10\.1\.0\.0/16"):
        STANDALONE.parse({**LEAST, "rest.forwarded.allow.ips": f"127.0.0.1,{wrong}"})


def test_a_name_that_only_a_proxy_says_opens_no_listener(serve) -> None:
    """A page whose name leads here now may set any header: it is of the same origin."""
    settings = {"rest.forwarded.allow.ips": "127.0.0.1", "listeners": "http://127.0.0.1:8083"}
    client = serve(settings, around=lambda app: lambda scope, *rest: app({**scope, LOOPBACK: True}, *rest))
    headers = {"Host": "evil.example", "X-Forwarded-Host": "localhost"}
    assert client.get("/connectors", headers=headers).status_code == 421
    assert client.get("/connectors", headers={"Host": "localhost"}).status_code == 200


def test_behind_a_proxy_its_pages_are_the_workers_own(serve) -> None:
    client = serve({"rest.forwarded.allow.ips": "127.0.0.1"})
    headers = {"Origin": "https://public.example", "X-Forwarded-Host": "public.example"}
    config = {"connector.class": "Known", "name": "x"}
    made = client.post("/connectors", headers={**headers, "X-Forwarded-Proto": "https"}, json={"config": config})
    assert made.status_code == 201
    assert made.headers["location"] == "https://public.example/connectors/x"
    assert serve().post("/connectors", headers=headers, json={"config": config}).status_code == 403


def test_the_edge_is_around_all_that_answers(serve) -> None:
    """Also around CORS, which answers by itself."""
    app = serve({"access.control.allow.origin": "http://ui"})._transport.app
    assert isinstance(app, Edge)
