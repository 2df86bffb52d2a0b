"""Client settings by their Java names. Clients are really made; no broker is needed for that."""

import datetime
import logging
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, pkcs12
from cryptography.x509.oid import NameOID

from connect.kafka.clients import librdkafka, librdkafka_generate
from connect.kafka.clients.java_keys import RULES
from connect.kafka.clients.java_rules import Computed, Kind, Mapped, NoEffect, Refused
from connect.kafka.clients.settings import (
    CONSUMER_DEFAULTS,
    PRODUCER_DEFAULTS,
    ClientSettingError,
    client_settings,
    task_client_settings,
    translate,
)

KINDS: tuple[Kind, ...] = ("producer", "consumer", "admin")
BOOTSTRAP = {"bootstrap.servers": "127.0.0.1:1"}

# For each key that takes effect: a value, the settings of librdkafka that it has to become, and what else must be set.
EXAMPLES: dict[str, tuple[str, dict[str, object], dict[str, str]]] = {
    "acks": ("all", {"acks": -1}, {}),
    "allow.auto.create.topics": ("false", {"allow.auto.create.topics": False}, {}),
    "auto.offset.reset": ("none", {"auto.offset.reset": "error"}, {}),
    "batch.size": ("16384", {"batch.size": 16384}, {}),
    "bootstrap.servers": (" a:1 , b:2 ", {"bootstrap.servers": "a:1,b:2"}, {}),
    "buffer.memory": ("33554433", {"queue.buffering.max.kbytes": 32769}, {}),
    "check.crcs": ("true", {"check.crcs": True}, {}),
    "client.dns.lookup": ("use_all_dns_ips", {"client.dns.lookup": "use_all_dns_ips"}, {}),
    "client.id": ("me", {"client.id": "me"}, {}),
    "client.rack": ("r1", {"client.rack": "r1"}, {}),
    "compression.gzip.level": ("7", {"compression.level": 7}, {"compression.type": "gzip"}),
    "compression.lz4.level": ("9", {"compression.level": 9}, {"compression.type": "lz4"}),
    "compression.type": ("zstd", {"compression.type": "zstd"}, {}),
    "compression.zstd.level": ("3", {"compression.level": 3}, {"compression.type": "zstd"}),
    "connections.max.idle.ms": ("-1", {"connections.max.idle.ms": 0}, {}),
    "delivery.timeout.ms": ("2147483647", {"delivery.timeout.ms": 2147483647}, {}),
    "enable.idempotence": ("false", {"enable.idempotence": False}, {}),
    "enable.metrics.push": ("false", {"enable.metrics.push": False}, {}),
    "exclude.internal.topics": ("true", {
        "topic.blacklist": "^__consumer_offsets$,^__transaction_state$,^__share_group_state$"}, {}),
    "fetch.max.bytes": ("200000000", {"fetch.max.bytes": 200000000, "receive.message.max.bytes": 200000512}, {}),
    "fetch.max.wait.ms": ("500", {"fetch.wait.max.ms": 500}, {}),
    "fetch.min.bytes": ("1", {"fetch.min.bytes": 1}, {}),
    "group.id": ("g", {"group.id": "g"}, {}),
    "group.instance.id": ("i", {"group.instance.id": "i"}, {}),
    "group.protocol": ("CONSUMER", {"group.protocol": "consumer"}, {}),
    "group.remote.assignor": ("uniform", {"group.remote.assignor": "uniform"}, {"group.protocol": "consumer"}),
    "heartbeat.interval.ms": ("3000", {"heartbeat.interval.ms": 3000}, {}),
    "isolation.level": ("read_committed", {"isolation.level": "read_committed"}, {}),
    "linger.ms": ("20", {"linger.ms": 20}, {}),
    "max.in.flight.requests.per.connection": ("5", {"max.in.flight.requests.per.connection": 5}, {}),
    "max.partition.fetch.bytes": ("1048576", {"max.partition.fetch.bytes": 1048576}, {}),
    "max.poll.interval.ms": ("300000", {"max.poll.interval.ms": 300000}, {}),
    "max.request.size": ("10485760", {"message.max.bytes": 10485760}, {}),
    "metadata.max.age.ms": ("300000", {"topic.metadata.refresh.interval.ms": 300000}, {}),
    "metadata.recovery.rebootstrap.trigger.ms": ("1", {"metadata.recovery.rebootstrap.trigger.ms": 1}, {}),
    "metadata.recovery.strategy": ("NONE", {"metadata.recovery.strategy": "none"}, {}),
    "partition.assignment.strategy": (
        "org.apache.kafka.clients.consumer.RangeAssignor,org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        {"partition.assignment.strategy": "range"}, {}),
    "partitioner.ignore.keys": ("true", {"partitioner": "random"}, {}),
    "receive.buffer.bytes": ("-1", {"socket.receive.buffer.bytes": 0}, {}),
    "reconnect.backoff.max.ms": ("1000", {"reconnect.backoff.max.ms": 1000}, {}),
    "reconnect.backoff.ms": ("50", {"reconnect.backoff.ms": 50}, {}),
    "request.timeout.ms": ("40000", {"socket.timeout.ms": 40000}, {}),
    "retries": ("5", {"retries": 5}, {}),
    "retry.backoff.max.ms": ("1000", {"retry.backoff.max.ms": 1000}, {}),
    "retry.backoff.ms": ("100", {"retry.backoff.ms": 100}, {}),
    "send.buffer.bytes": ("131072", {"socket.send.buffer.bytes": 131072}, {}),
    "session.timeout.ms": ("45000", {"session.timeout.ms": 45000}, {}),
    "socket.connection.setup.timeout.ms": ("10000", {"socket.connection.setup.timeout.ms": 10000}, {}),
    "transaction.timeout.ms": ("60000", {"transaction.timeout.ms": 60000}, {}),
    "transactional.id": ("t", {"transactional.id": "t"}, {}),
    "security.protocol": ("SSL", {"security.protocol": "ssl"}, {}),
    "sasl.mechanism": ("SCRAM-SHA-256", {"sasl.mechanism": "SCRAM-SHA-256"}, {}),
    "sasl.jaas.config": (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p\\"; q ";',
        {"sasl.username": "u", "sasl.password": 'p"; q '}, {}),
    "sasl.kerberos.min.time.before.relogin": ("60000", {"sasl.kerberos.min.time.before.relogin": 60000}, {}),
    "sasl.kerberos.service.name": ("kafka", {"sasl.kerberos.service.name": "kafka"}, {}),
    "sasl.oauthbearer.token.endpoint.url": ("https://localhost/t", {
        "sasl.oauthbearer.token.endpoint.url": "https://localhost/t", "sasl.oauthbearer.method": "oidc"}, {}),
    "sasl.oauthbearer.assertion.template.file": ("f", {"sasl.oauthbearer.assertion.jwt.template.file": "f"}, {}),
    "sasl.oauthbearer.assertion.algorithm": ("es256", {"sasl.oauthbearer.assertion.algorithm": "ES256"}, {}),
    "sasl.oauthbearer.assertion.claim.exp.seconds": ("300", {"sasl.oauthbearer.assertion.claim.exp.seconds": 300}, {}),
    "sasl.oauthbearer.assertion.claim.jti.include": (
        "true", {"sasl.oauthbearer.assertion.claim.jti.include": True}, {}),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": ("60", {"sasl.oauthbearer.assertion.claim.nbf.seconds": 60}, {}),
    **{f"sasl.oauthbearer.{name}": ("text", {f"sasl.oauthbearer.{name}": "text"}, {}) for name in (
        "assertion.claim.aud", "assertion.claim.iss", "assertion.claim.sub", "assertion.file",
        "assertion.private.key.file", "assertion.private.key.passphrase", "client.credentials.client.id",
        "client.credentials.client.secret", "scope", "sub.claim.name")},
    "ssl.cipher.suites": ("ECDHE-RSA-AES128-GCM-SHA256, AES256-SHA", {
        "ssl.cipher.suites": "ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA"}, {}),
    "ssl.endpoint.identification.algorithm": ("", {"ssl.endpoint.identification.algorithm": "none"}, {}),
    "ssl.key.password": ("secret", {"ssl.key.password": "secret"}, {}),
    "ssl.keystore.certificate.chain": ("CERT", {"ssl.certificate.pem": "CERT"}, {}),
    "ssl.keystore.key": ("KEY", {"ssl.key.pem": "KEY"}, {}),
    "ssl.keystore.location": ("/k.pem", {"ssl.key.location": "/k.pem", "ssl.certificate.location": "/k.pem"}, {
        "ssl.keystore.type": "PEM"}),
    "ssl.keystore.password": ("secret", {"ssl.keystore.password": "secret"}, {"ssl.keystore.type": "PKCS12"}),
    "ssl.keystore.type": ("PEM", {}, {}),
    "ssl.truststore.certificates": ("CA", {"ssl.ca.pem": "CA"}, {}),
    "ssl.truststore.location": ("/ca.pem", {"ssl.ca.location": "/ca.pem"}, {"ssl.truststore.type": "PEM"}),
    "ssl.truststore.password": ("secret", {}, {}),
    "ssl.truststore.type": ("PEM", {}, {}),
}  # fmt: skip

EFFECTIVE = [(kind, key) for kind in KINDS for key, rule in RULES[kind].items() if isinstance(rule, Mapped | Computed)]


def make(kind: Kind, settings: Mapping[str, object]) -> None:
    """Make a client with these settings, and let it go. Raises KafkaException if librdkafka refuses one."""
    settings = dict(settings)
    quiet = logging.getLogger("librdkafka.test")
    quiet.disabled = True
    if kind == "producer":
        Producer(settings, logger=quiet)
    elif kind == "consumer":
        Consumer({"group.id": "g"} | settings, logger=quiet).close()
    else:
        AdminClient(settings, logger=quiet)


def test_the_table_of_librdkafka_is_what_the_installed_library_says() -> None:
    made: dict[str, object] = {}
    exec(librdkafka_generate.generated(), made)
    assert made["PROPERTIES"] == librdkafka.PROPERTIES


@pytest.mark.parametrize(("kind", "key"), EFFECTIVE)
def test_a_setting_that_takes_effect_becomes_what_librdkafka_calls_it_and_is_accepted(kind: Kind, key: str) -> None:
    value, expected, beside = EXAMPLES[key]
    found = translate(kind, BOOTSTRAP | beside | {key: value})
    assert expected.items() <= found.librdkafka.items()
    assert found.warnings == []
    make(kind, found.librdkafka)


@pytest.mark.parametrize("kind", KINDS)
def test_all_plain_settings_together_make_a_client(kind: Kind) -> None:
    java = {
        key: EXAMPLES[key][0]
        for each, key in EFFECTIVE
        if each == kind and not key.startswith(("ssl.", "sasl.", "security.", "group.remote", "group.protocol"))
    }
    java |= BOOTSTRAP | {"compression.type": "gzip", "enable.idempotence": "true"}
    java["delivery.timeout.ms"] = "60000"
    make(kind, client_settings(kind, java).librdkafka)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key and its certificate: both in key.pem, as Java wants it, and in key.p12; ca.pem to trust."""
    folder = tmp_path_factory.mktemp("stores")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    begin = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    unsigned = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    unsigned = unsigned.not_valid_before(begin)
    certificate = unsigned.not_valid_after(begin.replace(year=2120)).sign(key, hashes.SHA256())
    pem = certificate.public_bytes(Encoding.PEM)
    encrypted = BestAvailableEncryption(b"secret")
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encrypted) + pem)
    (folder / "key.p12").write_bytes(pkcs12.serialize_key_and_certificates(b"key", key, certificate, None, encrypted))
    (folder / "ca.pem").write_bytes(pem)
    return folder


KEY_FILE = {"ssl.keystore.type": "PEM", "ssl.keystore.location": "F/key.pem", "ssl.key.password": "secret"}
KEY_STORE = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "F/key.p12", "ssl.keystore.password": "secret"}
TRUST = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "F/ca.pem"}
LOGIN = {"sasl.jaas.config": 'org.apache.kafka.PlainLoginModule required username="u" password="p";'}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "java",
    [
        TRUST,
        TRUST | KEY_FILE,
        TRUST | KEY_STORE,
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"} | LOGIN,
        TRUST | {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"} | LOGIN,
    ],
)
def test_stores_and_logins_are_really_opened(kind: Kind, java: dict[str, str], stores: Path) -> None:
    java = {key: value.replace("F/", f"{stores}/") for key, value in java.items()}
    make(kind, client_settings(kind, BOOTSTRAP | java).librdkafka)
    if "ssl.keystore.location" in java:
        wrong = {"ssl.key.password": "wrong", "ssl.keystore.password": "wrong"}
        with pytest.raises(KafkaException, match="ssl"):
            make(kind, client_settings(kind, BOOTSTRAP | java | wrong).librdkafka)


@pytest.mark.parametrize("kind", KINDS)
def test_the_defaults_make_a_client(kind: Kind) -> None:
    make(kind, client_settings(kind, BOOTSTRAP).librdkafka)


@pytest.mark.parametrize(
    ("kind", "key"),
    [(kind, key) for kind in KINDS for key, rule in RULES[kind].items() if isinstance(rule, NoEffect)],
)
def test_a_setting_without_effect_is_named_in_one_warning(kind: Kind, key: str) -> None:
    found = translate(kind, {key: "something"})
    assert found.librdkafka == {}
    (warning,) = found.warnings
    assert warning.startswith(f"{key}: it has no effect: ")


@pytest.mark.parametrize(
    ("kind", "key"),
    [(kind, key) for kind in KINDS for key, rule in RULES[kind].items() if isinstance(rule, Refused)],
)
def test_a_setting_that_would_change_what_happens_is_refused(kind: Kind, key: str) -> None:
    with pytest.raises(ClientSettingError) as caught:
        translate(kind, {key: "com.acme.Something"})
    assert caught.value.key == key
    rule = RULES[kind][key]
    assert isinstance(rule, Refused)
    for harmless in rule.unless:
        found = translate(kind, {key: harmless})
        assert (found.librdkafka, found.warnings) == ({}, [])


@pytest.mark.parametrize(
    ("kind", "java", "key", "message"),
    [
        ("producer", {"linger.ms": "5ms"}, "linger.ms", "write a number"),
        ("producer", {"retries": "5.0"}, "retries", "write a whole number"),
        ("producer", {"buffer.memory": "32m"}, "buffer.memory", '"32m" is not a whole number'),
        ("producer", {"enable.idempotence": "yes"}, "enable.idempotence", "write true or false"),
        ("producer", {"compression.type": "lzma"}, "compression.type", "none, gzip, snappy, lz4, zstd"),
        ("producer", {"delivery.timeout.ms": "0"}, "delivery.timeout.ms", "above 0"),
        ("consumer", {"auto.offset.reset": "by_duration:P1D"}, "auto.offset.reset", "cannot start by duration"),
        ("consumer", {"max.poll.records": "many"}, "max.poll.records", "not a whole number"),
        ("consumer", {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.StickyAssignor"},
         "partition.assignment.strategy", "is not available"),
        ("consumer", {"group.protocol": "consumer", "session.timeout.ms": "1"}, "session.timeout.ms", "broker decides"),
        ("admin", {"ssl.truststore.location": "/t.jks"}, "ssl.truststore.location", "No such file"),
        ("admin", {"ssl.keystore.location": "/t.jks"}, "ssl.keystore.location", "No such file"),
        ("admin", {"ssl.keystore.type": "BKS"}, "ssl.keystore.type", "PEM, PKCS12 or JKS"),
        ("admin", {"ssl.truststore.type": "PEM", "ssl.truststore.password": "x"}, "ssl.truststore.password", "remove"),
        ("admin", {"ssl.cipher.suites": "TLS_RSA_WITH_AES_128_CBC_SHA"}, "ssl.cipher.suites", "OpenSSL's names"),
        ("admin", {"sasl.jaas.config": "com.acme.LoginModule required;"}, "sasl.jaas.config", "cannot run here"),
        ("admin", {"security.protocol": "TLS"}, "security.protocol", "sasl_ssl"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_an_error_with_advice(kind: Kind, java: dict[str, str], key: str, message: str) -> None:
    with pytest.raises(ClientSettingError, match=message) as caught:
        translate(kind, java)
    assert caught.value.key == key


@pytest.mark.parametrize(
    "jaas",
    [
        'a.PlainLoginModule required username="u" password="hunter2"',
        'a.PlainLoginModule required username="u" password="hunter2;',
        'a.PlainLoginModule required hunter2;',
        'a.PlainLoginModule username="u" password="hunter2";',
        'a.PlainLoginModule required password="hunter2" token="x";',
        'a.PlainLoginModule required password="hunter2"; b.PlainLoginModule required;',
    ],
)  # fmt: skip
def test_a_login_that_cannot_be_read_is_refused_and_not_shown(jaas: str) -> None:
    with pytest.raises(ClientSettingError) as caught:
        translate("producer", {"sasl.jaas.config": jaas})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("jaas", "expected"),
    [
        ("org.PlainLoginModule required\n  username='u'\n  password=p ;", {"sasl.username": "u", "sasl.password": "p"}),
        ('org.OAuthBearerLoginModule required clientId="i" clientSecret="s" scope="c";', {
            "sasl.oauthbearer.client.credentials.client.id": "i",
            "sasl.oauthbearer.client.credentials.client.secret": "s", "sasl.oauthbearer.scope": "c"}),
        ('com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="a@B";', {
            "sasl.kerberos.keytab": "/k", "sasl.kerberos.principal": "a@B"}),
    ],
)  # fmt: skip
def test_each_login_module_is_read(jaas: str, expected: dict[str, str]) -> None:
    assert translate("consumer", {"sasl.jaas.config": jaas}).librdkafka == expected


def test_passwords_do_not_show_when_printed() -> None:
    assert "hunter2" not in repr(translate("producer", {"ssl.key.password": "hunter2"}))


def test_a_number_beyond_librdkafka_s_range_is_limited_with_a_warning() -> None:
    found = translate("producer", {"linger.ms": "1000000", "retry.backoff.ms": "0"})
    assert found.librdkafka == {"linger.ms": 900000, "retry.backoff.ms": 1}
    assert [warning.partition(":")[0] for warning in found.warnings] == ["linger.ms", "retry.backoff.ms"]


def test_a_compression_level_of_another_codec_is_left_out_as_in_java() -> None:
    assert "compression.level" not in translate("producer", {"compression.gzip.level": "7"}).librdkafka


def test_what_the_runtime_goes_by_is_handed_on() -> None:
    found = translate("consumer", {"max.poll.records": "17"})
    assert (found.librdkafka, found.runtime) == ({}, {"max.poll.records": 17})


def test_librdkafka_s_own_spelling_goes_through_and_wins() -> None:
    found = translate(
        "producer", {"message.timeout.ms": "7", "delivery.timeout.ms": "9", "sticky.partitioning.linger.ms": "1"}
    )
    assert found.librdkafka == {"delivery.timeout.ms": 7, "sticky.partitioning.linger.ms": 1}
    assert found.warnings == []


@pytest.mark.parametrize(
    ("kind", "key", "message"),
    [
        ("producer", "fetch.min.bytes", "it is a setting of a consumer"),
        ("consumer", "linger.ms", "it is a setting of a producer"),
        ("producer", "lingr.ms", "did you mean linger.ms?"),
        ("producer", "dr_msg_cb", "no producer knows it"),
    ],
)
def test_what_no_client_knows_is_named_in_one_warning(kind: Kind, key: str, message: str) -> None:
    found = translate(kind, {key: "5"})
    assert found.librdkafka == {}
    (warning,) = found.warnings
    assert message in warning


@pytest.mark.parametrize(
    ("java", "session"),
    [
        ({}, 10_000),
        ({"session.timeout.ms": "30000"}, 30_000),
        ({"heartbeat.interval.ms": "14000"}, None),
        ({"group.protocol": "consumer"}, None),
    ],
)
def test_a_consumers_session_is_a_workers_unless_the_broker_or_its_heartbeats_say_else(
    java: dict[str, str], session: int | None
) -> None:
    assert client_settings("consumer", java).librdkafka.get("session.timeout.ms") == session


def test_a_setting_given_replaces_the_default_under_any_spelling() -> None:
    assert client_settings("producer", {"delivery.timeout.ms": "5000"}).librdkafka["delivery.timeout.ms"] == 5000
    assert client_settings("producer", {}).librdkafka["delivery.timeout.ms"] == PRODUCER_DEFAULTS["message.timeout.ms"]
    assert client_settings("consumer", {"fetch.queue.backoff.ms": "9"}).librdkafka["fetch.queue.backoff.ms"] == 9
    assert CONSUMER_DEFAULTS.items() <= client_settings("consumer", {}).librdkafka.items()


@pytest.mark.parametrize(
    "setting",
    [
        {"acks": "1"},
        {"acks": "0"},
        {"retries": "0"},
        {"max.in.flight.requests.per.connection": "6"},
        {"enable.idempotence": "false"},
    ],
)
def test_idempotence_ends_with_a_warning_where_a_setting_rules_it_out(setting: dict[str, str]) -> None:
    found = client_settings("producer", BOOTSTRAP | setting)
    assert found.librdkafka["enable.idempotence"] is False
    assert found.librdkafka["max.in.flight.requests.per.connection"] in {1, 6}
    assert [warning.partition(":")[0] for warning in found.warnings] == list(setting)
    make("producer", found.librdkafka)


def test_idempotence_that_was_asked_for_is_not_given_up() -> None:
    with pytest.raises(ClientSettingError, match="enable.idempotence=true needs acks=all") as caught:
        task_client_settings("producer", {"producer.acks": "1"}, {"producer.override.enable.idempotence": "true"})
    assert caught.value.key == "producer.acks"


def test_a_transactional_producer_tries_no_longer_than_its_transaction_lasts() -> None:
    java = BOOTSTRAP | {"transactional.id": "t"}
    make("producer", client_settings("producer", java).librdkafka)
    found = client_settings("producer", java | {"delivery.timeout.ms": "2147483647"})
    assert found.librdkafka["delivery.timeout.ms"] == 60000
    assert [warning.partition(":")[0] for warning in found.warnings] == ["delivery.timeout.ms"]
    make("producer", found.librdkafka)


WORKER = {"bootstrap.servers": "w:1", "security.protocol": "SSL", "client.id": "worker", "retry.backoff.ms": "7"}


def test_a_task_s_settings_are_the_worker_s_then_the_connector_s() -> None:
    worker = WORKER | {"producer.linger.ms": "1", "producer.acks": "all", "consumer.fetch.min.bytes": "2"}
    found = task_client_settings("producer", worker, {"producer.override.linger.ms": "3"}).librdkafka
    assert found["linger.ms"] == 3
    assert found["acks"] == -1
    assert found["bootstrap.servers"] == "w:1"
    assert found["security.protocol"] == "ssl"
    assert "fetch.min.bytes" not in found
    assert "retry.backoff.ms" not in found


def test_an_admin_client_takes_what_it_knows_from_the_top_of_the_worker_s_file() -> None:
    found = task_client_settings("admin", WORKER | {"metrics.num.samples": "3"}, {"admin.override.client.id": "mine"})
    assert found.librdkafka["retry.backoff.ms"] == 7
    assert found.librdkafka["client.id"] == "mine"
    assert found.warnings == []


@pytest.mark.parametrize("own", [{"producer.bootstrap.servers": "other:1"}, {"producer.sasl.mechanism": "PLAIN"}])
def test_the_worker_s_security_is_not_mixed_with_a_client_s_own(own: dict[str, str]) -> None:
    assert "security.protocol" not in task_client_settings("producer", WORKER | own, {}).librdkafka


def test_a_sink_s_group_is_named_after_the_connector_unless_set() -> None:
    connector = {"name": "orders"}
    assert task_client_settings("consumer", WORKER, connector).librdkafka["group.id"] == "connect-orders"
    connector["consumer.override.group.id"] = "mine"
    assert task_client_settings("consumer", WORKER, connector).librdkafka["group.id"] == "mine"


def test_a_pattern_of_topics_does_not_match_kafka_s_own() -> None:
    assert "topic.blacklist" in task_client_settings("consumer", WORKER, {"topics.regex": ".*"}).librdkafka
    assert "topic.blacklist" not in task_client_settings("consumer", WORKER, {"topics": "a"}).librdkafka
    shown = {"topics.regex": ".*", "consumer.override.exclude.internal.topics": "false"}
    assert "topic.blacklist" not in task_client_settings("consumer", WORKER, shown).librdkafka


def test_errors_and_warnings_name_the_key_as_it_stands_in_its_file() -> None:
    with pytest.raises(ClientSettingError) as caught:
        task_client_settings("producer", WORKER, {"producer.override.linger.ms": "x"})
    assert caught.value.key == "producer.override.linger.ms"
    found = task_client_settings("producer", WORKER | {"producer.max.block.ms": "1"}, {})
    assert [warning.partition(":")[0] for warning in found.warnings] == ["producer.max.block.ms"]


def test_translating_loads_no_client_library() -> None:
    program = (
        "import sys; from connect.kafka.clients.settings import client_settings; client_settings('producer', {});"
        "sys.exit('confluent_kafka' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
