"""Logins by OAUTHBEARER: a member waits for the server that gives tokens as it waits for brokers."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from connect.kafka.broker import embedded as kafka
from connect.ports import free_port
from tests.servers.broker import a_broker

from .members import Group

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


class Issuer(ThreadingHTTPServer):
    """Gives tokens that a broker for tests accepts: they are not signed. Each is to be renewed at once."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.refused = 0

    @staticmethod
    def token() -> str:
        now = int(time.time())
        parts = {"alg": "none"}, {"sub": "worker", "iat": now, "exp": now + 3600, "scope": "kafka"}
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        return ".".join([*encoded, ""])


class _Handler(BaseHTTPRequestHandler):
    server: Issuer

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = json.dumps({"access_token": self.server.token(), "expires_in": 0}).encode()
        self.server.refused += self.server.status != 200
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_member_outlives_a_server_of_tokens_that_is_away(
    broker: object, issuer: Issuer, group_at: Callable[[str], Group], tmp_path: Path
) -> None:
    plain, tokens, controller = (free_port() for _ in range(3))
    clients = f"PLAINTEXT://127.0.0.1:{plain},TOKENS://127.0.0.1:{tokens}"
    settings = {
        "listeners": f"{clients},CONTROLLER://127.0.0.1:{controller}",
        # The same key once more, and the last one counts: the embedded broker finds its port by the first.
        "advertised\\.listeners": clients,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TOKENS:SASL_PLAINTEXT",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.tokens.oauthbearer.sasl.jaas.config": f'{MODULE} required unsecuredLoginStringClaim_sub="b";',
    }
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{issuer.server_port}/token",
        "sasl.oauthbearer.client.credentials.client.id": "me",
        "sasl.oauthbearer.client.credentials.client.secret": "hidden",
    }
    data = tmp_path / "broker"
    with a_broker(data, port=plain, settings=settings):
        worker = group_at(f"127.0.0.1:{tokens}").prepare(settings=login)
        worker.membership.start(30)
        worker.wait(lambda worker: worker.membership.live())
        issuer.status = 503
        kafka.stop(data)
        kafka.ensure_running(data, port=plain, settings=settings)
        worker.wait(lambda worker: issuer.refused >= 5 or worker.errors)
        assert worker.errors == []
        worker.wait(lambda worker: not worker.membership.live())
        issuer.status = 200
        worker.wait(lambda worker: worker.membership.live())
