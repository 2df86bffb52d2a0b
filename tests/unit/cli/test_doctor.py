"""`connect doctor` finds what is planted, says at which step, and what to do; none of its checks stops another."""

from __future__ import annotations

import datetime as dt
import http.server
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from connect.cli import main
from connect.cli._doctor import checks, group, limits, topics
from connect.cli._doctor.brokers import API_VERSIONS
from connect.cli._doctor.clocks import compared
from connect.cli._doctor.finding import Finding, Level, error, exit_code, note, of_message, ok, warning
from connect.cli._doctor.network import place_of
from connect.cli._doctor.shown import shown, summary
from connect.cli._doctor.subject import read_subject
from connect.cli._doctor.targets import parsed
from connect.kafka.admin.inspection import Group, Member, Replicas
from tests.unit.plugins.test_jars import class_file, jar

SECRET = "s3cr3t-of-alice"
NOW = dt.datetime.now(dt.UTC)


class Ward:
    """A worker's file without faults, for what is planted in it, and servers on this machine that answer as told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = {
            "bootstrap.servers": "127.0.0.1:1",
            "key.converter": "StringConverter",
            "value.converter": "StringConverter",
            "offset.storage.file.filename": str(folder / "offsets"),
            "listeners": "http://127.0.0.1:0",
        }
        self.text = ""
        self.mode = 0o600
        self.connectors: list[str] = []
        self.sockets: list[socket.socket] = []

    def set(self, **keys: str | None) -> None:
        """Underscores stand for dots; None takes a key away."""
        for name, value in keys.items():
            key = name.replace("_", ".")
            if value is None:
                self.keys.pop(key, None)
            else:
                self.keys[key] = value

    def file(self, name: str, content: str | bytes, mode: int = 0o600) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return str(path)

    def write(self) -> str:
        lines = "".join(f"{key}={value}\n" for key, value in self.keys.items())
        return self.file("worker.properties", f"{lines}{self.text}", self.mode)

    def connector(self, **config: str) -> None:
        keys = {"name": "orders", **{key.replace("_", "."): value for key, value in config.items()}}
        self.connectors.append(self.file(f"{keys['name']}.json", json.dumps(keys)))

    def pair(self, days: float = 365, name: str = "worker") -> tuple[bytes, bytes]:
        """A private key and a certificate for 127.0.0.1 that ends in so many days, as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - dt.timedelta(days=400))
            .not_valid_after(NOW + dt.timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .sign(key, hashes.SHA256())
        )
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return private, certificate.public_bytes(Encoding.PEM)

    def https(self, store: bytes, mode: int = 0o600) -> None:
        self.set(
            listeners="https://127.0.0.1:0",
            listeners_https_ssl_keystore_type="PEM",
            listeners_https_ssl_keystore_location=self.file("listener.pem", store, mode),
        )

    def serve(self, answer: Callable[[socket.socket], None]) -> str:
        """Start a server that does this with each connection. Returns host:port."""
        listening = socket.create_server(("127.0.0.1", 0))
        self.sockets.append(listening)

        def run() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                    with connection:
                        answer(connection)
                except ssl.SSLError:
                    continue
                except OSError:
                    return

        threading.Thread(target=run, daemon=True).start()
        return f"127.0.0.1:{listening.getsockname()[1]}"

    def tls_server(self) -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file("broker.pem", b"".join(self.pair(name="broker"))))

        def answer(connection: socket.socket) -> None:
            with context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(100)

        return self.serve(answer)

    def findings(self, area: str, timeout: float = 1.0) -> list[Finding]:
        """What the checks of one area find."""
        subject = read_subject(self.write(), self.connectors, timeout)
        check = import_module(f"connect.cli._doctor.{checks.AREAS[area]}").check
        return list(checks.guarded(area, lambda: check(subject), debug=True))


@pytest.fixture
def ward(tmp_path: Path) -> Iterator[Ward]:
    made = Ward(tmp_path)
    yield made
    for each in made.sockets:
        each.close()


def silent(connection: socket.socket) -> None:
    time.sleep(3)


def an_http_server(connection: socket.socket) -> None:
    connection.recv(100)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def unknown_key(ward: Ward) -> None:
    ward.set(ofset_flush_interval_ms="5")


def missing_key(ward: Ward) -> None:
    ward.set(key_converter=None)


def wrong_value(ward: Ward) -> None:
    ward.set(offset_flush_interval_ms="soon")


def broken_file(ward: Ward) -> None:
    ward.text = "plugin.path=\\u12\n"


def converter_that_is_not_there(ward: Ward) -> None:
    ward.set(value_converter="StringConvertor")


def client_setting(ward: Ward) -> None:
    ward.set(producer_compression_type="lz9")


def provider_without_class(ward: Ward) -> None:
    ward.set(config_providers="vault")


def variable_without_value(ward: Ward) -> None:
    ward.set(config_providers="env", config_providers_env_class="EnvVarConfigProvider", client_id="${env:NOT_THERE}")


def password_for_all_to_read(ward: Ward) -> None:
    ward.set(sasl_jaas_config=f'x.PlainLoginModule required username="alice" password="{SECRET}";')
    ward.mode = 0o644


def secrets_file_for_all_to_read(ward: Ward) -> None:
    path = ward.file("db.properties", f"password={SECRET}\n", 0o604)
    ward.set(config_providers="file", config_providers_file_class="FileConfigProvider")
    ward.set(admin_client_id=f"${{file:{path}:password}}")


def key_for_all_to_read(ward: Ward) -> None:
    ward.https(b"".join(ward.pair()), 0o644)


def expired(ward: Ward) -> None:
    ward.https(b"".join(ward.pair(days=-1)))


def expires_soon(ward: Ward) -> None:
    ward.https(b"".join(ward.pair(days=10)))


def key_of_another(ward: Ward) -> None:
    ward.https(ward.pair()[0] + ward.pair()[1])


def store_that_is_not_there(ward: Ward) -> None:
    ward.set(security_protocol="SSL", ssl_truststore_type="PEM", ssl_truststore_location=str(ward.folder / "no.pem"))


def expired_authority(ward: Ward) -> None:
    ward.set(
        security_protocol="SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_location=ward.file("trust.pem", ward.pair(days=-3, name="authority")[1]),
    )


def taken_port(ward: Ward) -> None:
    ward.set(listeners=f"http://{ward.serve(silent)}")


def address_of_another(ward: Ward) -> None:
    ward.set(listeners="http://192.0.2.1:8083")


def open_to_all(ward: Ward) -> None:
    ward.set(listeners="http://0.0.0.0:0")


def name_without_address(ward: Ward) -> None:
    ward.set(group_id="pool", rest_advertised_host_name="worker.invalid")


def users_for_all_to_read(ward: Ward) -> None:
    ward.set(rest_security_authentication="basic", rest_security_users_file=ward.file("users", "", 0o644))


def broker_without_address(ward: Ward) -> None:
    ward.set(bootstrap_servers="broker.invalid:9092")


def broker_that_is_down(ward: Ward) -> None:
    ward.set(bootstrap_servers="127.0.0.1:1")


def broker_that_is_silent(ward: Ward) -> None:
    ward.set(bootstrap_servers=ward.serve(silent))


def tls_that_is_silent(ward: Ward) -> None:
    ward.set(bootstrap_servers=ward.serve(silent), security_protocol="SSL")


def no_broker(ward: Ward) -> None:
    ward.set(bootstrap_servers=ward.serve(an_http_server))


def plain_client(ward: Ward) -> None:
    ward.set(bootstrap_servers=ward.tls_server())


def plain_broker(ward: Ward) -> None:
    ward.set(bootstrap_servers=ward.serve(an_http_server), security_protocol="SSL")


def broker_that_is_not_trusted(ward: Ward) -> None:
    ward.set(bootstrap_servers=ward.tls_server(), security_protocol="SSL")


def no_folder_of_plugins(ward: Ward) -> None:
    (ward.folder / "plugins").mkdir()
    ward.set(plugin_path=str(ward.folder / "plugins"))


def plugin_that_is_no_python(ward: Ward) -> None:
    ward.file("plugins/one/sink.py", "class Sink(:\n")
    ward.set(plugin_path=str(ward.folder / "plugins"))


PLUGIN = "import connect\n\nclass OwnSink(connect.SinkConnector):\n    version = '1.0'\n"


def plugin_that_is_there_twice(ward: Ward) -> None:
    ward.file("plugins/one/own.py", PLUGIN)
    ward.file("plugins/two/own.py", PLUGIN)
    ward.set(plugin_path=str(ward.folder / "plugins"))


def jar_that_is_damaged(ward: Ward) -> None:
    ward.file("plugins/one/half.jar", "no jar")
    ward.set(plugin_path=str(ward.folder / "plugins"))


def plugin_without_its_library(ward: Ward) -> None:
    ward.file("plugins/one/own.py", f"import a_library_that_is_not_there\n{PLUGIN}")
    ward.set(plugin_path=str(ward.folder / "plugins"))


def no_folder_for_offsets(ward: Ward) -> None:
    ward.set(offset_storage_file_filename=str(ward.folder / "absent" / "offsets"))


def a_file_for_a_folder(ward: Ward) -> None:
    ward.set(rest_security_audit_log=ward.file("file", "") + "/audit.log")


def connector_with_a_wrong_value(ward: Ward) -> None:
    ward.connector(connector_class="FileStreamSink", topics="orders", file="out.txt", tasks_max="many")


def target_that_is_down(ward: Ward) -> None:
    ward.connector(
        connector_class="JdbcSink", topics="a", connection_url=f"jdbc:postgresql://u:{SECRET}@127.0.0.1:1/db"
    )


def registry_without_address(ward: Ward) -> None:
    ward.set(value_converter_schema_registry_url="http://registry.invalid:8081")


FAULTS = [
    (unknown_key, "files", "warning", "not known and has no effect. -> Did you mean offset.flush.interval.ms?"),
    (missing_key, "files", "error", 'key "key.converter": is required and has no default. -> Add the key.'),
    (wrong_value, "files", "error", '"soon" is not a whole number'),
    (broken_file, "files", "error", "needs four hexadecimal digits -> Write a backslash as"),
    (converter_that_is_not_there, "files", "error", 'There is no converter "StringConvertor"'),
    (client_setting, "files", "error", 'key "producer.compression.type"'),
    (provider_without_class, "files", "error", "config.providers.vault.class"),
    (variable_without_value, "files", "error", "${env:NOT_THERE} has no value"),
    (password_for_all_to_read, "secrets", "warning", "may read it (mode 0644), and it holds sasl.jaas.config. -> Run:"),
    (secrets_file_for_all_to_read, "secrets", "warning", "mode 0604"),
    (key_for_all_to_read, "secrets", "warning", "ssl.keystore.location names it"),
    (expired, "certificates", "error", "the certificate of CN=worker expired at"),
    (expires_soon, "certificates", "warning", "the certificate of CN=worker expires in 9 days"),
    (key_of_another, "certificates", "error", "the private key does not belong to the certificate"),
    (store_that_is_not_there, "certificates", "error", "No such file"),
    (expired_authority, "certificates", "error", "the certificate of CN=authority expired at"),
    (taken_port, "listeners", "error", "the port is in use by process"),
    (address_of_another, "listeners", "error", "nobody can listen there"),
    (open_to_all, "listeners", "warning", "the REST API has no logins. -> Set rest.security.authentication=basic"),
    (name_without_address, "listeners", "error", "the name worker.invalid has no"),
    (users_for_all_to_read, "listeners", "error", "everybody on this machine may read"),
    (broker_without_address, "brokers", "error", "DNS: the name broker.invalid has no a"),
    (broker_that_is_down, "brokers", "error", "TCP: refuses connections"),
    (broker_that_is_silent, "brokers", "error", "Kafka: it takes connections, and answers nothing within 1 s."),
    (tls_that_is_silent, "brokers", "error", "TLS: the broker takes the connection, and answers nothing within 1 s."),
    (no_broker, "brokers", "error", "Kafka: what listens there is no broker. -> Correct bootstrap.servers."),
    (plain_client, "brokers", "error", "-> Set security.protocol to that of this listener, such as SSL"),
    (plain_broker, "brokers", "error", "TLS: what listens there does not speak TLS"),
    (broker_that_is_not_trusted, "brokers", "error", "TLS: the broker's certificate is not trusted (self-signed"),
    (no_folder_of_plugins, "plug-ins", "warning", "it holds no Python code"),
    (plugin_that_is_no_python, "plug-ins", "error", "its text is not Python"),
    (plugin_that_is_there_twice, "plug-ins", "warning", "is there 2 times in version 1.0"),
    (jar_that_is_damaged, "plug-ins", "warning", "it is damaged: BadZipFile"),
    (plugin_without_its_library, "plug-ins", "error", "No module named 'a_library_that_is_not_there'"),
    (no_folder_for_offsets, "disks", "error", "there is no such folder. -> Create it: mkdir -p"),
    (a_file_for_a_folder, "disks", "error", "this is not a folder"),
    (connector_with_a_wrong_value, "connectors", "error", '"many" is not a whole number'),
    (target_that_is_down, "targets", "error", "TCP: refuses connections"),
    (registry_without_address, "targets", "error", "DNS: the name registry.invalid has no a"),
]


@pytest.mark.parametrize(("plant", "area", "level", "said"), FAULTS, ids=[each[0].__name__ for each in FAULTS])
def test_a_planted_fault_is_found(ward: Ward, plant: Callable[[Ward], None], area: str, level: str, said: str) -> None:
    before = [each for each in ward.findings(area) if each.level.word == level and area != "brokers"]
    assert before == []
    plant(ward)
    found = ward.findings(area)
    texts = [f"{each.found} -> {each.next_step}" for each in found if each.level.word == level]
    assert any(said in text for text in texts), found
    assert all(each.next_step for each in found if each.level >= Level.WARNING)
    assert SECRET not in repr(found)


def test_what_is_well_is_told_as_well(ward: Ward) -> None:
    ward.https(b"".join(ward.pair()))
    for area in ("files", "secrets", "certificates", "listeners", "disks", "limits", "plug-ins", "java"):
        found = ward.findings(area)
        assert found, area
        assert max(each.level for each in found) <= Level.NOTE, found


def test_a_folder_of_jars_is_well(ward: Ward) -> None:
    provider = "org.apache.kafka.common.config.provider.ConfigProvider"
    jar(ward.folder / "plugins" / "one" / "a.jar", {"x.Vault": class_file("x.Vault", "java.lang.Object", provider)})
    ward.set(plugin_path=str(ward.folder / "plugins"))
    (found,) = ward.findings("plug-ins")
    assert (found.level, found.found) == (Level.OK, "1 plug-in in 1 folder.")


def test_a_broker_that_answers_its_versions_is_well_up_to_there(ward: Ward) -> None:
    def answer(connection: socket.socket) -> None:
        asked = connection.recv(100)
        if asked == API_VERSIONS:
            one = (18).to_bytes(2, "big") + bytes(4)
            connection.sendall((16).to_bytes(4, "big") + bytes(6) + (1).to_bytes(4, "big") + one)

    ward.set(bootstrap_servers=ward.serve(answer))
    found = ward.findings("brokers", timeout=0.5)
    assert (found[0].level, found[0].found) == (
        Level.OK,
        "TCP and API versions are well: it knows 1 kind of requests.",
    )
    assert found[1].level is Level.ERROR  # it knows no other request
    assert SECRET not in repr(found)


def test_a_secret_that_this_user_may_not_look_up_stops_no_check(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = ward.folder / "closed" / "secrets"
    secrets_file_for_all_to_read(ward)
    ward.keys = {"client.id": f"${{file:{closed}:id}}", **ward.keys}
    look = Path.stat

    def stat(path: Path, **more: Any) -> os.stat_result:
        if closed in (path, *path.parents):
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **more)

    monkeypatch.setattr(Path, "stat", stat)
    (found,) = ward.findings("secrets")
    assert "db.properties" in found.what


def test_a_check_that_raises_is_a_finding_and_stops_no_other(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    from connect.cli._doctor import disks, java

    def raises(_: object) -> Iterator[Finding]:
        yield ok("a thing", "is well.")
        raise RuntimeError(f"password={SECRET}\nand more")

    ward.set(sasl_jaas_config=f'x.PlainLoginModule required username="alice" password="{SECRET}";')
    monkeypatch.setattr(checks, "AREAS", {"java": "java", "disks": "disks"})
    monkeypatch.setattr(java, "check", raises)
    found = list(checks.examine(read_subject(ward.write(), [], 1)))
    assert [each.area for each in found[:3]] == ["java", "java", "disks"]
    assert found[1].level is Level.ERROR
    assert found[1].found.startswith("ended unexpectedly: RuntimeError: password=")
    assert SECRET not in repr(found)
    assert disks.check is not None


def test_no_java_stops_the_embedded_broker(ward: Ward, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from connect.jvm import java

    monkeypatch.setattr(java, "_places", list)
    (found,) = ward.findings("java")
    assert found.level is Level.NOTE
    ward.set(bootstrap_servers="embedded")
    (found,) = ward.findings("java")
    assert found.level is Level.ERROR
    assert "the embedded broker does not start" in found.found
    assert "JAVA_HOME" in found.next_step


def test_a_worker_that_runs_already_is_no_error(ward: Ward) -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(1000)
        body = b'{"version":"4.3.0","commit":"x","kafka_cluster_id":"abc"}'
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    ward.set(listeners=f"http://{ward.serve(answer)}")
    (found,) = (each for each in ward.findings("listeners") if each.level is not Level.OK)
    assert found.level is Level.WARNING
    assert "a Connect worker answers there" in found.found


def test_an_address_that_is_away_is_no_error_while_another_one_answers(ward: Ward) -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall((10).to_bytes(4, "big") + bytes(10))

    ward.set(bootstrap_servers=f"127.0.0.1:1,{ward.serve(answer)}")
    first, second, *_ = ward.findings("brokers", timeout=0.5)
    assert (first.level, first.found) == (Level.WARNING, "TCP: refuses connections: nobody listens on this port.")
    assert second.level is Level.OK


def test_what_a_worker_warns_of_in_its_log_is_a_finding(ward: Ward) -> None:
    ward.set(rest_security_authentication="basic", rest_security_users_file=ward.file("users", ""))
    found = [each.found for each in ward.findings("listeners") if each.level is Level.WARNING]
    assert found == ["rest.security.roles.file is not set: every user of the REST API may do everything."]


def test_what_two_checks_find_alike_is_said_once(ward: Ward) -> None:
    converter_that_is_not_there(ward)
    store_that_is_not_there(ward)
    ward.connector(connector_class="FileStreamSink", topics="orders", file="out.txt")
    found = list(checks.examine(read_subject(ward.write(), ward.connectors, 1)))
    for words in ("StringConvertor", "No such file"):
        assert len([each for each in found if words in each.found]) == 1, found


class _Late(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response_only(200)
        self.send_header("Date", "Mon, 05 Jan 2015 10:00:00 GMT")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def test_a_server_with_another_time_is_a_warning(ward: Ward) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Late)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    ward.connector(connector_class="ElasticsearchSink", connection_url=f"http://127.0.0.1:{server.server_port}/")
    (found,) = ward.findings("clocks")
    server.shutdown()
    server.server_close()
    assert (found.level, found.next_step) == (Level.WARNING, "Have NTP set the clocks of both.")
    assert "ahead of the server's" in found.found


@pytest.mark.parametrize(("seconds", "level"), [(0, "ok"), (-2, "ok"), (31, "ok"), (45, "warning"), (-45, "warning")])
def test_a_clock_is_compared_within_what_can_be_known(seconds: int, level: str) -> None:
    before = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    after = before + dt.timedelta(seconds=2)
    date = (before + dt.timedelta(seconds=seconds)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert compared("http://h/", date, before, after).level.word == level
    assert compared("http://h/", "", before, after).level is Level.NOTE


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("http://es:9200/path?x=1", ("http", "es", 9200)),
        ("https://es", ("https", "es", 443)),
        ("jdbc:postgresql://db.example/x", ("postgresql", "db.example", 5432)),
        ("jdbc:sqlserver://db:1444;databaseName=x", ("sqlserver", "db", 1444)),
        ("postgresql+psycopg://u:p@db:5433/x", ("postgresql", "db", 5433)),
        ("kafka2:9092", ("", "kafka2", 9092)),
        ("jdbc:sqlite:/tmp/x.db", None),
        ("http://h:port/", None),
        ("file:///tmp/x", None),
        ("just words", None),
    ],
)
def test_addresses_are_read(text: str, place: tuple[str, str, int] | None) -> None:
    assert parsed(text) == place


def test_a_host_may_have_its_port_under_another_key(ward: Ward) -> None:
    assert parsed("db.example", "5432") == ("", "db.example", 5432)
    assert parsed("db.example") is None
    assert place_of("SSL://[::1]:9092") == ("::1", 9092)


MEMBERS = [Member("connect-1", "10.0.0.7")]


@pytest.mark.parametrize(
    ("found", "protocol", "level", "said"),
    [
        (None, "sessioned", "ok", "does not exist"),
        (Group("Stable", "consumer", "range", MEMBERS, None), "sessioned", "error", "another kind (consumer)"),
        (Group("Empty", "consumer", "", [], None), "sessioned", "warning", "no members now"),
        (Group("Empty", "", "", [], None), "sessioned", "ok", "no members"),
        (Group("Stable", "connect", "sessioned", MEMBERS, None), "sessioned", "ok", "1 worker, on 10.0.0.7"),
        (Group("Stable", "connect", "sessioned", MEMBERS, None), "eager", "warning", "has all of them change"),
        (Group("Stable", "connect", "default", MEMBERS, None), "sessioned", "note", "one of them knows no better"),
        (Group("Stable", "connect", "sessioned", MEMBERS, frozenset({"DESCRIBE"})), "sessioned", "error", "READ"),
    ],
)
def test_a_group_is_judged_by_its_kind_its_protocol_and_our_rights(
    found: Group | None, protocol: str, level: str, said: str
) -> None:
    judged = group.judged("group pool", "pool", found, protocol)
    assert (judged.level.word, said in judged.found) == (level, True), judged


@pytest.mark.parametrize(
    ("partitions", "wanted", "brokers", "min_isr", "said"),
    [
        ([Replicas(3, 3, True)], 3, 3, "2", []),
        ([Replicas(1, 1, True)], 1, 1, "1", []),
        ([Replicas(1, 1, True)], 3, 1, "1", ["note: its copies are 1, and the file asks for 3"]),
        ([Replicas(1, 1, True)], -1, 3, "1", ["warning: it has 1 copy, though there are 3 brokers"]),
        ([Replicas(2, 2, True)], 2, 3, "3", ["error: min.insync.replicas=3 is more than the number of its copies, 2"]),
        ([Replicas(2, 2, True)], 2, 3, "2", ["warning: min.insync.replicas=2 and 2 copies"]),
        (
            [Replicas(3, 3, True), Replicas(3, 1, True)],
            3,
            3,
            "2",
            ["error: its copies in sync are 1, and min.insync.replicas=2"],
        ),
        ([Replicas(3, 2, True)], 3, 3, "2", ["warning: of its 3 copies 2 are in sync"]),
        ([Replicas(3, 3, True), Replicas(3, 0, False)], 3, 3, "2", ["error: 1 partition without a leader"]),
    ],
)
def test_copies_of_a_topic_are_compared_with_what_writing_takes(
    partitions: list[Replicas], wanted: int, brokers: int, min_isr: str, said: list[str]
) -> None:
    found = list(topics.replication("topic c", "c", partitions, wanted, brokers, min_isr))
    assert len(found) == len(said), found
    for each, text in zip(found, said, strict=True):
        assert f"{each.level.word}: {each.found}".startswith(text)
        assert each.next_step


def test_limits_are_compared_with_what_the_connectors_need(tmp_path: Path) -> None:
    assert limits.open_files(0, 1024, 4096).level is Level.OK
    assert limits.open_files(100, 1024, 4096).next_step == "Raise it to 1,312 or more."
    assert limits.open_files(1000, 1024, 4096).next_step.startswith("Raise the hard limit, too,")
    assert limits.processes(100, 200).level is Level.WARNING
    assert limits.processes(100, None).level is Level.OK
    assert limits.memory(1, 2 << 30, (1 << 30, "are the limit of this container")).level is Level.WARNING
    assert limits.memory(1, 1 << 29, (1 << 30, "are available")).level is Level.OK
    (tmp_path / "memory.max").write_text("1073741824\n")
    assert limits.memory_limit(tmp_path) == (1 << 30, "are the limit of this container")
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    assert limits.memory_limit(tmp_path, tmp_path / "meminfo") == (2 << 20, "are available")
    assert limits.memory_limit(tmp_path, tmp_path / "none") is None


def test_the_worst_error_decides_the_exit_code() -> None:
    assert exit_code([]) == exit_code([ok("a", "b"), warning("a", "b", "c"), note("a", "b")]) == 0
    assert exit_code([error("a", "b", "c")]) == 1
    assert exit_code([error("a", "b", "c"), error("a", "b", "c", 3)]) == 3
    assert exit_code([error("a", "b", "c", 3), error("a", "b", "c", 2)]) == 2


def test_a_message_is_parted_into_what_was_found_and_what_to_do() -> None:
    found = of_message(Level.ERROR, "f:3", '"3k" is not a whole number. Write 3000. Or 4.', "Correct it.")
    assert (found.found, found.next_step) == ('"3k" is not a whole number.', "Write 3000. Or 4.")
    found = of_message(Level.ERROR, "f:3", "it is missing; write host:port", "")
    assert (found.found, found.next_step) == ("it is missing", "Write host:port")
    assert of_message(Level.ERROR, "f:3", "is wrong.", "Correct it.").next_step == "Correct it."


def test_a_table_has_what_to_do_below_what_was_found() -> None:
    text = shown([error("worker.properties:3", "is wrong.", "Correct it."), ok("x", "is well.")])
    head, first, second, third, _, last = text.split("\n")
    assert head.split() == ["LEVEL", "AREA", "LOOKED", "AT", "FOUND,", "AND", "WHAT", "TO", "DO"]
    assert first.split() == ["error", "worker.properties:3", "is", "wrong."]
    assert second.strip() == "-> Correct it."
    assert third.startswith("ok ")
    assert last == "1 error, 1 ok"
    assert summary([]) == "0 errors"


@pytest.mark.parametrize("columns", [80, 100, 128, 129, 200])
def test_a_table_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    findings = [Finding(level, "what " * 30, "found " * 60, "to do " * 40, area="certificates") for level in Level]
    lines = shown(findings).splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0].index("FOUND") <= 69


def test_without_a_file_the_machine_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["worker"] is None
    assert told["exit_code"] == 0
    assert {each["area"] for each in told["findings"]} == {"files", "plug-ins", "java", "disks", "limits"}
    assert set(told["findings"][0]) == {"level", "area", "what", "found", "next_step"}


def test_with_a_file_all_is_looked_at_and_the_exit_code_says_what_is_wrong(
    ward: Ward, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")  # no sentence is wrapped, whatever the terminal
    ward.set(sasl_jaas_config=f'x.PlainLoginModule required username="alice" password="{SECRET}";')
    assert main(["doctor", ward.write(), "--timeout", "1"]) == 3
    shown_text = capsys.readouterr().out
    assert "TCP: refuses connections: nobody listens on this port." in shown_text
    assert shown_text.rstrip().endswith("ok")
    assert SECRET not in shown_text
    ward.set(offset_flush_interval_ms="soon")
    assert main(["doctor", ward.write(), "--timeout", "1", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["worst"] == "error"
    assert main(["doctor", str(ward.folder / "absent.properties")]) == 2
    assert "there is no such file" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--timeout", "soon"])
    assert ended.value.code == 2


def test_nothing_is_made_by_looking(ward: Ward) -> None:
    ward.set(rest_security_authentication="basic", rest_security_users_file=ward.file("users", ""))
    ward.set(rest_security_audit_log=str(ward.folder / "audit.log"))
    path = ward.write()
    before = sorted(ward.folder.iterdir())
    list(checks.examine(read_subject(path, [], 1)))
    assert sorted(ward.folder.iterdir()) == before


def test_a_port_that_is_asked_for_stays_free(ward: Ward) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
    ward.set(listeners=f"http://127.0.0.1:{port}")
    assert max(each.level for each in ward.findings("listeners")) is Level.OK
    socket.create_server(("127.0.0.1", port)).close()
