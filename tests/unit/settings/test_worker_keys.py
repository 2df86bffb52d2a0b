import pytest

from connect.settings.worker_keys import DISTRIBUTED, STANDALONE, unknown_keys

LEAST = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    "offset.storage.file.filename": "/tmp/offsets",
}


def errors(config: dict[str, str]) -> dict[str, list[str]]:
    return {found.name: found.errors for found in STANDALONE.validate(config) if found.errors}


def test_four_keys_are_enough_for_a_standalone_worker() -> None:
    assert errors(LEAST) == {}
    assert set(errors({})) == LEAST.keys()


def test_every_key_says_what_it_is_for() -> None:
    assert [setting.name for setting in STANDALONE | DISTRIBUTED if not setting.doc.endswith(".")] == []


@pytest.mark.parametrize("servers", ["embedded", "a:9092", "a:1,b:2,", "[::1]:9092", "SSL://a.b:9093", "10.0.0.1:9092"])
def test_brokers_are_host_and_port(servers: str) -> None:
    assert errors(LEAST | {"bootstrap.servers": servers}) == {}


@pytest.mark.parametrize(
    ("servers", "advice"),
    [
        ("localhost", "localhost:9092"),
        ("", "host:9092"),
        (",", "host:9092"),
        ("a:9092 b:9092", "not a host:port"),
        ("a:0", "port from 1 to 65535"),
        ("a:99999", "port from 1 to 65535"),
        ("a:9092,embedded", "not a host:port"),
    ],
)
def test_a_broker_without_a_port_is_refused(servers: str, advice: str) -> None:
    assert advice in errors(LEAST | {"bootstrap.servers": servers})["bootstrap.servers"][0]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("offset.flush.interval.ms", "0"),
        ("task.shutdown.graceful.timeout.ms", "5s"),
        ("listeners", "localhost:8083"),
        ("listeners", "http://:8083,ftp://x:1"),
        ("plugin.discovery", "scan"),
        ("rest.advertised.port", "70000"),
        ("topic.creation.enable", "maybe"),
    ],
)
def test_a_wrong_value_is_refused(key: str, value: str) -> None:
    assert errors(LEAST | {key: value}).keys() == {key}


def test_what_others_read_is_known() -> None:
    keys = [
        "producer.acks",
        "admin.x",
        "key.converter.schemas.enable",
        "config.providers.env.class",
        "sasl.mechanism",
        "listeners.https.ssl.keystore.location",
        "connector.client.config.override.allowlist",
        "group.id",
    ]
    assert unknown_keys([*keys, *LEAST]) == []


def test_an_unknown_key_is_named_with_the_one_it_was_meant_to_be() -> None:
    (misspelt, said), (odd, also_said) = unknown_keys(["offset.flush.intervall.ms", *LEAST, "batch.size"])
    assert misspelt == "offset.flush.intervall.ms"
    assert "Did you mean offset.flush.interval.ms?" in said
    assert odd == "batch.size"
    assert "Did you mean" not in also_said
