"""Spans of requests."""

import pytest

from connect.telemetry.spans import Span, current

CALLER = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


@pytest.fixture
def ended(herder) -> list[Span]:
    spans: list[Span] = []
    herder.metrics().tracer.start(spans.append)
    return spans


def test_a_request_is_a_span_below_its_caller(client, herder, ended) -> None:
    herder.configs["orders"] = {}
    assert client.get("/connectors/orders/config", headers={"traceparent": f"00-{'-'.join(CALLER)}-01"}).is_success
    (span,) = ended
    assert (span.trace, span.parent, span.kind) == (*CALLER, "server")
    assert span.name == "GET /connectors/{connector}/config"
    assert span.error == ""
    assert span.attributes == {
        "http.request.method": "GET",
        "http.route": "/connectors/{connector}/config",
        "http.response.status_code": 200,
        "url.path": "/connectors/orders/config",
        "url.scheme": "http",
    }


@pytest.mark.parametrize(
    "header", [[], [("traceparent", "nonsense")], [("traceparent", f"00-{'-'.join(CALLER)}-01")] * 2]
)
def test_without_one_valid_caller_it_begins_a_trace(client, ended, header) -> None:
    client.get("/connectors", headers=header)
    assert [span.parent for span in ended] == [""]


def test_what_does_its_work_finds_the_span(client, herder, ended, monkeypatch) -> None:
    seen = []

    def connectors() -> list[str]:
        seen.append(current.get())
        return []

    monkeypatch.setattr(herder, "connectors", connectors)
    client.get("/connectors")
    assert [context.span for context in seen] == [ended[0].span]


def test_errors_of_the_worker_are_errors_of_the_span_and_those_of_callers_are_not(
    client, herder, ended, monkeypatch
) -> None:
    client.get("/connectors/nobody")
    monkeypatch.setattr(herder, "connectors", lambda: 1 / 0)
    client.get("/connectors")
    assert [(span.attributes["http.response.status_code"], span.error) for span in ended] == [
        (404, ""),
        (500, "ZeroDivisionError"),
    ]


@pytest.mark.parametrize("path", ["/ui", "/ui/plugins", "/ui/connectors", "/ui/connectors/{name}", "/ui/new"])
def test_a_page_is_not_taken_for_what_the_interface_has_under_a_like_path(client, ended, path) -> None:
    client.get(path.replace("{name}", "orders"))
    assert [span.name for span in ended] == [f"GET {path}"]


def test_a_path_that_no_route_has_is_no_name(client, ended) -> None:
    client.get("/nothing/here")
    assert [span.name for span in ended] == ["GET"]


def test_what_programs_ask_all_the_time_is_not_traced(client, ended) -> None:
    for path in ("/metrics", "/health", "/health/live", "/health/ready"):
        client.get(path)
    assert ended == []


def test_nothing_is_traced_while_the_tracer_is_off(client, herder, ended) -> None:
    herder.metrics().tracer.stop()
    assert client.get("/connectors").status_code == 200
    assert ended == []
