"""A guarded worker as its users meet it: files and commands, passwords, tokens, certificates on real connections."""

import http.client
import json
import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from connect.ports import free_port

from .conftest import Worker

ROLES = """
[[grant]]
role = "viewer"
to = ["user:vera", "token:ci"]
connectors = ["a*"]

[[grant]]
role = "editor"
to = ["certificate:edna"]
connectors = ["a*"]

[[grant]]
role = "admin"
to = ["user:ada"]
"""


def connect(*words: str, typed: str = "", code: int = 0, **environment: str) -> str:
    """Run `connect` with these words. Returns what it prints, errors too."""
    done = subprocess.run(
        [sys.executable, "-m", "connect.cli", *words],
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


class Files:
    """The files of a guarded worker, written by the commands that write them."""

    def __init__(self, folder: Path) -> None:
        self.users, self.tokens, self.roles, self.log = (
            folder / name for name in ("users", "tokens", "roles.toml", "audit.log")
        )
        for name in ("vera", "ada"):
            connect("users", "add", name, "--file", str(self.users), typed=f"pw-{name}\n")
        self.token = connect("tokens", "create", "ci", "--file", str(self.tokens)).splitlines()[0]
        self.roles.write_text(ROLES)
        self.settings = {
            "rest__security__authentication": "basic,bearer",
            "rest__security__users__file": str(self.users),
            "rest__security__tokens__file": str(self.tokens),
            "rest__security__roles__file": str(self.roles),
            "rest__security__audit__log": str(self.log),
        }

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def of_user(worker: Worker, name: str, *words: str, password: str = "", code: int = 0) -> str:
    """Run a command as a user of this worker."""
    url = f"http://127.0.0.1:{worker.port}"
    return connect(*words, "--url", url, "--user", name, code=code, CONNECT_PASSWORD=password or f"pw-{name}")


@pytest.mark.quick
def test_users_do_what_their_roles_say_and_every_change_is_written_down(workers, files: Files, tmp_path: Path) -> None:
    worker = workers.start(**files.settings)
    assert worker.ask("GET", "/connectors")[0] == 401
    for name in ("a1", "b1"):
        (tmp_path / "in.txt").write_text("one\n")
        config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": f"t-{name}"}
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name, "config": config}))
        assert name in of_user(worker, "ada", "apply", "--yes", "-f", str(tmp_path / f"{name}.json"))
    seen = of_user(worker, "vera", "list")
    assert "a1" in seen
    assert "b1" not in seen
    hidden = of_user(worker, "vera", "get", "b1", code=1)
    assert 'user:vera needs the role viewer for connector "b1"' in hidden
    assert "needs the role operator" in of_user(worker, "vera", "pause", "a1", code=1)
    assert "401" in of_user(worker, "vera", "list", password="wrong", code=1)
    url = f"http://127.0.0.1:{worker.port}"
    assert "a1" in connect("list", "--url", url, CONNECT_TOKEN=files.token)
    found = [(line["user"], line["http"], line.get("connector"), line["status"]) for line in files.lines()]
    assert found == [
        ("user:ada", "PUT", "a1", 201),
        ("user:ada", "PUT", "b1", 201),
        ("user:vera", "PUT", "a1", 403),
        ("user:vera", "GET", None, 401),
    ]
    assert files.token not in worker.log + files.log.read_text()
    assert "pw-" not in worker.log + files.log.read_text()


def test_files_count_as_they_are_now(workers, files: Files) -> None:
    worker = workers.start(**files.settings)
    url = f"http://127.0.0.1:{worker.port}"
    of_user(worker, "vera", "list")
    connect("users", "passwd", "vera", "--file", str(files.users), typed="other\n")
    of_user(worker, "vera", "list", code=1)
    of_user(worker, "vera", "list", password="other")
    connect("users", "remove", "vera", "--file", str(files.users))
    of_user(worker, "vera", "list", password="other", code=1)
    connect("tokens", "revoke", "ci", "--file", str(files.tokens))
    connect("list", "--url", url, code=1, CONNECT_TOKEN=files.token)
    of_user(worker, "ada", "logs", "level")
    files.roles.write_text(ROLES.replace("admin", "editor"))
    assert "needs the role admin" in of_user(worker, "ada", "logs", "level", code=1)
    of_user(worker, "ada", "list")


def test_where_anybody_may_do_anything_is_said_loudly_and_on_loopback_nothing(workers) -> None:
    port = free_port()
    worker = workers.start(listeners=f"http://0.0.0.0:{port}", answering=False)
    worker.until(lambda: "REST API at" in worker.log)
    (line,) = [line for line in worker.log.splitlines() if "ANYBODY WHO REACHES" in line]
    assert "WARN" in line
    assert f"http://0.0.0.0:{port}" in line
    assert "rest.security.authentication=basic" in line
    quiet = workers.start()
    assert "ANYBODY" not in quiet.log
    assert "rest.security" not in quiet.log


def test_passwords_on_an_open_network_are_warned_about(workers, files: Files) -> None:
    worker = workers.start(listeners=f"http://0.0.0.0:{free_port()}", answering=False, **files.settings)
    worker.until(lambda: "REST API at" in worker.log)
    assert "ANYBODY" not in worker.log
    assert "travel to http://0.0.0.0" in worker.log


def test_everything_that_is_wrong_is_said_before_anything_starts(workers, tmp_path: Path) -> None:
    users, roles = tmp_path / "users", tmp_path / "roles.toml"
    users.write_text("# ours\nalice:$2y$05$abcdefgh\n")
    users.chmod(0o600)
    roles.write_text('[[grant]]\nrole = "owner"\nto = ["user:alice"]\n')
    worker = workers.start(
        answering=False,
        rest__security__authentication="basic,bearer,certificate",
        rest__security__users__file=str(users),
        rest__security__roles__file=str(roles),
        rest__security__certificate__name="serial",
        rest__security__audit__log=str(tmp_path / "none" / "audit.log"),
        rest__extension__classes="org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension",
    )
    assert worker.process.wait(60) == 2
    for says in (
        f'"rest.security.users.file": {users}:2: user "alice": the text behind the name is a hash by bcrypt',
        '"rest.security.tokens.file": is missing',
        f'"rest.security.roles.file": {roles}: grant 1: "owner" is not a role',
        '"rest.security.authentication": has certificate, but no listener asks for certificates',
        '"rest.security.certificate.name"',
        '"rest.security.audit.log"',
        "`connect users import FILE --file USERS`",
        "nothing was started",
    ):
        assert says in worker.log
    assert "abcdefgh" not in worker.log


def test_a_file_that_everybody_may_read_is_refused(workers, files: Files) -> None:
    files.users.chmod(0o644)
    worker = workers.start(answering=False, **files.settings)
    assert worker.process.wait(60) == 2
    assert f"everybody on this machine may read {files.users}" in worker.log


class Authority:
    """Signs certificates, in one folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.file = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        self._openssl("req", "-x509", *KEY, "-subj", f"/CN={name}", "-keyout", self._key, "-out", self.file)

    def sign(self, subject: str, alternative: str = "") -> Path:
        """A certificate with its key, in one PEM file."""
        stem = subject.replace("/", "_")
        key, request, signed, both = (
            self._folder / f"{self.file.stem}{stem}{end}" for end in (".k", ".r", ".c", ".pem")
        )
        self._openssl("req", "-new", *KEY, "-subj", subject, "-keyout", key, "-out", request)
        extensions = self._folder / "extensions"
        extensions.write_text(f"subjectAltName={alternative}\n" if alternative else "")
        self._openssl(
            *("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self._key, "-CAcreateserial", "-days", "2"),
            *("-extfile", extensions, "-out", signed),
        )
        both.write_text(key.read_text() + signed.read_text())
        return both

    def _openssl(self, *words: str | Path) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True)


KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "ours")


def secure(authority: Authority, files: Files, auth: str) -> dict[str, str]:
    """The settings of an https listener that asks for certificates."""
    server = authority.sign("/CN=worker", "IP:127.0.0.1")
    return files.settings | {
        "rest__security__authentication": "basic,certificate",
        "rest__security__certificate__mapping__rules": "RULE:^CN=([^,]+),.*$/$1/L",
        "listeners__https__ssl__keystore__type": "PEM",
        "listeners__https__ssl__keystore__location": str(server),
        "listeners__https__ssl__truststore__type": "PEM",
        "listeners__https__ssl__truststore__location": str(authority.file),
        "listeners__https__ssl__client__auth": auth,
    }


def context(authority: Authority, own: Path | None = None) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=authority.file)
    if own is not None:
        made.load_cert_chain(own)
    return made


def statuses(port: int, tls: ssl.SSLContext, *requests: tuple[str, str], **headers: str) -> list[int]:
    """The answers to these requests, all on one connection."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=tls, timeout=30)
    found = []
    try:
        for method, path in requests:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            found.append(answer.status)
    finally:
        connection.close()
    return found


def test_a_certificate_says_who_asks(workers, files: Files, authority: Authority, tmp_path: Path) -> None:
    port = free_port()
    worker = workers.start(
        listeners=f"https://127.0.0.1:{port}", answering=False, **secure(authority, files, "requested")
    )
    worker.until(lambda: "REST API at" in worker.log)
    edna = authority.sign("/O=Example/CN=Edna")
    asked = [("GET", "/connectors"), ("DELETE", "/connectors/a1"), ("DELETE", "/connectors/b1"), ("GET", "/connectors")]
    assert statuses(port, context(authority, edna), *asked) == [200, 404, 403, 200]
    # A certificate that no rule names, one without rights, none at all.
    assert statuses(port, context(authority, authority.sign("/CN=short")), *asked[:1]) == [401]
    assert statuses(port, context(authority, authority.sign("/O=Example/CN=other")), *asked[:1]) == [403]
    assert statuses(port, context(authority), *asked[:1]) == [401]
    assert statuses(port, context(authority), ("GET", "/health")) == [200]
    # What a request says counts before the certificate.
    header = {"Authorization": "Basic dmVyYTpwdy12ZXJh"}
    assert statuses(port, context(authority, edna), ("PUT", "/connectors/a1/pause"), **header) == [403]
    # Nobody signs for themselves.
    other = Authority(tmp_path, "theirs")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        statuses(port, context(authority, other.sign("/O=Example/CN=Edna")), *asked[:1])
    found = [(line["user"], line.get("method"), line["status"]) for line in files.lines()]
    assert found == [
        ("certificate:edna", "certificate", 404),
        ("certificate:edna", "certificate", 403),
        (None, None, 401),
        ("user:vera", "basic", 403),
    ]
    words = ["list", "--url", f"https://127.0.0.1:{port}", "--cacert", str(authority.file)]
    assert "no connectors" in connect(*words, "--cert", str(edna))
    assert "401" in connect(*words, code=1)


def test_a_listener_may_refuse_connections_without_a_certificate(workers, files: Files, authority: Authority) -> None:
    port = free_port()
    worker = workers.start(
        listeners=f"https://127.0.0.1:{port}", answering=False, **secure(authority, files, "required")
    )
    worker.until(lambda: "REST API at" in worker.log)
    edna = authority.sign("/O=Example/CN=Edna")
    assert statuses(port, context(authority, edna), ("GET", "/connectors")) == [200]
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
        statuses(port, context(authority), ("GET", "/connectors"))
    words = ["list", "--url", f"https://127.0.0.1:{port}", "--cacert", str(authority.file)]
    assert "--cert" in connect(*words, code=3)
