"""Workers ask each other over TLS as their own https listeners have it."""

import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from connect import peers
from connect.errors import ConfigError
from connect.peers.tls import peer_context, renewed_peer_context, tls_settings


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, with its key."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=worker", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", "key.pem", "-out", "certificate.pem"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    both = folder / "both.pem"
    both.write_text((folder / "key.pem").read_text() + (folder / "certificate.pem").read_text())
    return both


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.connection, ssl.SSLSocket)
        shown = (self.connection.getpeercert() or {}).get("subject", ())
        self.send_response(200)
        self.end_headers()
        self.wfile.write(repr(shown).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def worker(certificate: Path) -> Iterator[str]:
    """A worker that asks for certificates; says whose it got."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    tls.load_verify_locations(certificate)
    tls.verify_mode = ssl.CERT_REQUIRED
    server = HTTPServer(("127.0.0.1", 0), _Handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"https://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def settings(certificate: Path, prefix: str) -> dict[str, str]:
    return {
        f"{prefix}ssl.keystore.type": "PEM",
        f"{prefix}ssl.keystore.location": str(certificate),
        f"{prefix}ssl.truststore.type": "PEM",
        f"{prefix}ssl.truststore.location": str(certificate),
    }


@pytest.mark.parametrize("prefix", ["listeners.https.", ""])
def test_a_worker_shows_its_certificate_and_trusts_its_trust_store(worker: str, certificate: Path, prefix: str) -> None:
    with pytest.raises(peers.PeerError, match=r"CERTIFICATE|certificate"):
        peers.PeerClient().exchange("GET", worker)
    context = peer_context(settings(certificate, prefix))
    status, _, body = peers.PeerClient(lambda: context).exchange("GET", worker)
    assert (status, b"worker" in body) == (200, True)


def test_settings_with_the_prefix_are_all_that_counts_where_there_are_any(certificate: Path) -> None:
    own = settings(certificate, "listeners.https.")
    both = {**own, "ssl.truststore.location": "/no/such/file", "ssl.protocol": "x"}
    assert tls_settings(both) == (settings(certificate, ""), "listeners.https.")
    peer_context(both)
    del both["listeners.https.ssl.truststore.location"]
    with pytest.raises(ConfigError, match=r"listeners\.https\.ssl"):
        peer_context({**both, "listeners.https.ssl.truststore.location": "/no/such/file"})


def test_a_trust_store_that_was_renewed_counts_for_the_next_request(
    worker: str, certificate: Path, tmp_path: Path
) -> None:
    store = tmp_path / "trusted.pem"
    store.write_text(certificate.read_text().replace("A", "B"))
    keys = {**settings(certificate, ""), "ssl.truststore.location": str(store)}
    with pytest.raises(ConfigError, match="no certificates can be read"):
        renewed_peer_context(keys)
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-subj", "/CN=other", "-keyout", str(tmp_path / "key"), "-out", str(store)),
        ],
        check=True,
        capture_output=True,
    )
    client = peers.PeerClient(renewed_peer_context(keys).current)
    with pytest.raises(peers.PeerError, match=r"CERTIFICATE|certificate"):
        client.exchange("GET", worker)
    store.write_text(certificate.read_text())
    assert client.exchange("GET", worker)[0] == 200
