import pytest

from connect.errors import ConfigError
from spark_sink.session.masters import Kind, master_of
from spark_sink.session.settings import SessionOptions


@pytest.mark.parametrize(
    ("master", "kind", "cores", "url"),
    [
        ("local", Kind.LOCAL, 1, "local[1,2]"),
        ("local[3]", Kind.LOCAL, 3, "local[3,2]"),
        ("local[2, 4]", Kind.LOCAL, 2, "local[2, 4]"),
        ("yarn", Kind.YARN, 0, "yarn"),
    ],
)
def test_masters(master: str, kind: Kind, cores: int, url: str) -> None:
    found = master_of({"spark.master": f" {master} "})

    assert (found.kind, found.cores, found.url) == (kind, cores, url)


def test_all_cores_of_this_machine_without_a_master() -> None:
    found = master_of({})

    assert found.url == "local[*,2]"
    assert found.is_local
    assert found.cores >= 1


@pytest.mark.parametrize(
    ("master", "addresses"),
    [
        ("spark://a:7077", (("a", 7077),)),
        ("spark://a:7077,b:7078", (("a", 7077), ("b", 7078))),
        ("spark://[::1]:7077", (("::1", 7077),)),
        ("k8s://https://host:6443", ()),
        ("local-cluster[2,1,1024]", ()),
        ("sc://host", (("host", 15002),)),
        ("sc://host:443/;use_ssl=true;token=t", (("host", 443),)),
    ],
)
def test_what_has_to_answer(master: str, addresses: tuple[tuple[str, int], ...]) -> None:
    assert master_of({"spark.master": master}).addresses == addresses


@pytest.mark.parametrize(
    "master",
    ["lokal", "local[0]", "local[*", "spark://a", "spark://", "a:7077", "sc://", "sc://host:port", "mesos://a:1"],
)
def test_what_is_no_master(master: str) -> None:
    with pytest.raises(ConfigError, match=r"spark\.master"):
        master_of({"spark.master": master})


def test_a_server_is_named_in_one_place() -> None:
    assert master_of({"spark.remote": "sc://h", "spark.master": "sc://h"}).kind is Kind.CONNECT
    with pytest.raises(ConfigError, match=r"spark\.remote"):
        master_of({"spark.remote": "sc://h", "spark.master": "yarn"})
    with pytest.raises(ConfigError, match=r"spark\.remote"):
        master_of({"spark.remote": "spark://h:7077"})


def test_a_token_is_in_no_message() -> None:
    with pytest.raises(ConfigError) as caught:
        master_of({"spark.remote": "sc://:99/;token=secret-thing"})

    assert "secret-thing" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.master", "lokal"),
        ("spark.remote", "host:15002;token=secret-thing"),
        ("spark.shared.session", "a/b"),
        ("spark.ship.code", "sometimes"),
        ("spark.class.archive", "always"),
        ("spark.start.timeout.ms", "1"),
    ],
)
def test_a_wrong_key_is_found_before_anything_starts(key: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SessionOptions.parse({key: value})

    assert caught.value.key == key
    assert "secret-thing" not in str(caught.value)
