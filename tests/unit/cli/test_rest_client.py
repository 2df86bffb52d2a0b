"""Talking to a worker: who asks, what goes wrong, and that it is one line with the right exit code."""

import socket
import threading

import pytest

from connect.cli import main
from connect.cli._rest_client import AnswerError, RestClient, UnreachableError
from connect.telemetry.redaction import Redactor

BASIC = "Basic bWU6cEBzc3dvcmQ="  # me:p@ssword


def said(capsys):
    shown = capsys.readouterr()
    return shown.out, shown.err


@pytest.mark.parametrize(
    ("status", "code"), [(400, 2), (422, 2), (401, 1), (403, 1), (404, 1), (409, 1), (500, 1), (503, 1)]
)
def test_what_the_worker_says_is_the_error_on_one_line(server, capsys, status, code):
    server.answers["GET /connectors/orders/config"] = (status, {"error_code": status, "message": "It\nis\x1b[31m so."})
    assert main(["get", "orders"]) == code
    out, err = said(capsys)
    assert out == ""
    assert err.startswith(f"connect: It is [31m so. ({status} from {server.url})")
    assert err.count("\n") == 1
    assert ("CONNECT_TOKEN" in err) == (status == 401)


def test_an_answer_that_is_no_json_is_said_to_be_none(server, capsys):
    server.answers["GET /connectors"] = (200, "<html>hello</html>")
    assert main(["list"]) == 1
    assert "not Kafka Connect" in said(capsys)[1]
    server.answers["GET /connectors"] = (502, "Bad gateway")
    assert main(["list"]) == 1
    assert said(capsys)[1] == f"connect: Bad gateway (502 from {server.url})\n"
    server.answers["GET /connectors"] = (500, {"message": None})
    assert main(["list"]) == 1


def test_nobody_there_is_exit_code_3(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but it does not listen
        url = f"http://me:secret99@127.0.0.1:{taken.getsockname()[1]}"
        assert main(["list", "--url", url]) == 3
    err = said(capsys)[1]
    assert err.count("\n") == 1
    assert "connection refused" in err
    assert "CONNECT_URL" in err
    assert "secret99" not in err


def test_a_worker_that_does_not_answer_in_time_is_not_reached():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = RestClient(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.1)
        with pytest.raises(UnreachableError, match="no answer in time"):
            client.get("connectors")


def test_a_server_that_speaks_no_http_is_not_reached():
    with socket.create_server(("127.0.0.1", 0)) as other:

        def talk():
            with other.accept()[0] as connection:
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        with pytest.raises(UnreachableError, match="No Connect worker answers"):
            RestClient(f"http://127.0.0.1:{other.getsockname()[1]}").get("connectors")
        thread.join()


@pytest.mark.parametrize(
    "url", ["localhost:8083", "ftp://host", "http://", "http://me:secret99@host:port", "http://[x"]
)
def test_an_address_that_is_none_is_invalid_and_not_repeated(url, capsys):
    assert main(["list", "--url", url]) == 2
    err = said(capsys)[1]
    assert "--url" in err
    assert "secret99" not in err


def test_who_asks_is_said_in_the_address_or_in_the_environment(server, monkeypatch):
    server.answers["GET /connectors"] = (200, [])
    host = server.url.removeprefix("http://")

    def sent(url):
        RestClient(url).get("connectors")
        return server.asked[-1].headers.get("Authorization")

    assert sent(server.url) is None
    assert sent(f"http://me:p%40ssword@{host}") == BASIC
    assert sent(f"http://abc.def@{host}") == "Bearer abc.def"
    monkeypatch.setenv("CONNECT_AUTH", "me:p@ssword")
    assert sent(server.url) == BASIC
    monkeypatch.setenv("CONNECT_TOKEN", "from-the-environment\n")
    assert sent(server.url) == "Bearer from-the-environment"
    assert sent(f"http://me:p%40ssword@{host}") == BASIC


@pytest.mark.parametrize(("name", "value"), [("CONNECT_AUTH", "secret99"), ("CONNECT_TOKEN", "secret99\r\nX: y")])
def test_credentials_that_cannot_be_sent_are_refused_without_being_shown(server, monkeypatch, capsys, name, value):
    monkeypatch.setenv(name, value)
    assert main(["list"]) == 2
    err = said(capsys)[1]
    assert name in err
    assert "secret99" not in err
    assert server.asked == []


@pytest.mark.parametrize(("name", "value"), [("CONNECT_AUTH", "me:correct-horse"), ("CONNECT_TOKEN", "correct-horse")])
def test_a_password_that_the_worker_repeats_is_hidden(server, monkeypatch, capsys, name, value):
    apart = Redactor()
    monkeypatch.setattr("connect.cli._rest_client.redactor", apart)
    monkeypatch.setattr("connect.cli._credentials.redactor", apart)
    monkeypatch.setenv(name, value)
    server.answers["GET /connectors"] = (403, {"message": "me with correct-horse may not."})
    main(["list"])
    assert said(capsys)[1] == f"connect: me with [hidden] may not. (403 from {server.url})\n"


def test_names_are_quoted_and_a_path_before_kafka_connects_is_kept(server):
    server.answers["GET /kafka/connectors/a%2Fb%20%C3%A4/status"] = (200, {"name": "a/b ä"})
    assert RestClient(f"{server.url}/kafka/").get("connectors", "a/b ä", "status") == {"name": "a/b ä"}


def test_a_rebalance_is_waited_for(server):
    busy = {"error_code": 409, "message": "Cannot complete request momentarily due to stale configuration"}
    server.answers["PUT /connectors/a/pause"] = [(409, busy), (202, None)]
    assert RestClient(server.url).put("connectors", "a", "pause") is None
    assert len(server.asked) == 2


def test_a_conflict_that_does_not_pass_is_not_waited_for(server):
    server.answers["POST /connectors"] = (409, {"message": "Connector a already exists"})
    with pytest.raises(AnswerError, match="already exists"):
        RestClient(server.url).post("connectors", body={})
    assert len(server.asked) == 1


def test_a_redirection_is_not_followed_with_the_credentials(server, monkeypatch):
    monkeypatch.setenv("CONNECT_TOKEN", "abcdef")
    server.answers["GET /connectors"] = (302, None)
    with pytest.raises(AnswerError):
        RestClient(server.url).get("connectors")
    assert len(server.asked) == 1


def test_https_asks_whom_it_may_trust(serve, authority, capsys):
    file, context = authority
    server = serve(context)
    server.answers["GET /connectors"] = (200, {})
    assert main(["list", "--url", server.url, "--ca", file]) == 0
    assert main(["list", "--url", server.url]) == 3
    assert "--ca" in said(capsys)[1]
    assert main(["list", "--url", server.url, "--ca", __file__]) == 2
    assert main(["list", "--url", server.url, "--ca", "/no/such/file"]) == 2
