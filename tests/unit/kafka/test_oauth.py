import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import pytest
from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError

from connect.kafka.clients.java_rules import ClientSettingError
from connect.kafka.clients.oauth import TokenFromUrl
from connect.ports import free_port


class Issuer(HTTPServer):
    """An authorization server: each token it gives out has a number."""

    life = 3600
    status = 200
    asked: list[tuple[str | None, dict[str, list[str]]]]

    @property
    def settings(self) -> dict[str, str]:
        return {
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{self.server_port}/token",
            "sasl.oauthbearer.client.credentials.client.id": "me",
            "sasl.oauthbearer.client.credentials.client.secret": "hidden",
            "sasl.oauthbearer.scope": "kafka",
        }


class Handler(BaseHTTPRequestHandler):
    server: Issuer

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.asked.append((self.headers["Authorization"], form))
        answer = json.dumps({"access_token": f"token-{len(self.server.asked)}", "expires_in": self.server.life})
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer(("127.0.0.1", 0), Handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_token_is_asked_for_once_and_kept(issuer: Issuer) -> None:
    provider = TokenFromUrl(issuer.settings)
    assert [provider.token(), provider.token()] == ["token-1", "token-1"]
    assert issuer.asked == [("Basic bWU6aGlkZGVu", {"grant_type": ["client_credentials"], "scope": ["kafka"]})]


def test_who_this_machine_trusts_is_asked_by_https(
    issuer: Issuer, authority: tuple[str, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, context = authority
    issuer.socket = context.wrap_socket(issuer.socket, server_side=True)
    url = f"https://127.0.0.1:{issuer.server_port}/token"
    provider = TokenFromUrl({**issuer.settings, "sasl.oauthbearer.token.endpoint.url": url})
    with pytest.raises(SaslAuthenticationFailedError, match="no token from https"):
        provider.token()
    monkeypatch.setenv("SSL_CERT_FILE", file)
    assert provider.token() == "token-1"


def test_an_old_token_is_renewed(issuer: Issuer) -> None:
    issuer.life = 0
    provider = TokenFromUrl(issuer.settings)
    assert [provider.token(), provider.token()] == ["token-1", "token-2"]


def test_a_refusal_is_a_failed_login_that_names_the_url_and_shows_no_secret(issuer: Issuer) -> None:
    issuer.status = 401
    with pytest.raises(SaslAuthenticationFailedError, match="no token from http://127.0.0.1:.*HTTP 401") as raised:
        TokenFromUrl(issuer.settings).token()
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_that_is_busy_or_away_is_asked_again_and_is_no_failed_login(issuer: Issuer, status: int) -> None:
    issuer.status = status
    provider = TokenFromUrl(issuer.settings)
    with pytest.raises(KafkaConnectionError, match=f"no token from http://127.0.0.1:.*HTTP {status}") as raised:
        provider.token()
    assert raised.value.retriable
    issuer.status = 200
    assert provider.token() == "token-2"
    gone = {**issuer.settings, "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{free_port()}/token"}
    with pytest.raises(KafkaConnectionError, match="ConnectionRefusedError"):
        TokenFromUrl(gone).token()


@pytest.mark.parametrize("missing", ["token.endpoint.url", "client.credentials.client.id"])
def test_a_missing_setting_is_named(issuer: Issuer, missing: str) -> None:
    key = f"sasl.oauthbearer.{missing}"
    with pytest.raises(ClientSettingError, match=key):
        TokenFromUrl({**issuer.settings, key: ""})


def test_a_url_of_another_kind_is_refused(issuer: Issuer) -> None:
    with pytest.raises(ClientSettingError, match="https://"):
        TokenFromUrl({**issuer.settings, "sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd"})
