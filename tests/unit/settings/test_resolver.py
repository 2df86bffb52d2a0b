import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from connect.errors import ConfigError
from connect.settings.providers import ConfigProvider, ProviderData
from connect.settings.resolver import Resolver

JAVA = "org.apache.kafka.common.config.provider."
PROVIDERS = {
    "config.providers": "file, dir,env",
    "config.providers.file.class": JAVA + "FileConfigProvider",
    "config.providers.dir.class": "DirectoryConfigProvider",
    "config.providers.env.class": "EnvVarConfigProvider",
}


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TV", "tval")
    monkeypatch.setenv("TV2", "${env:TV}")
    monkeypatch.setenv("DOLLAR", r"a$1\1\g<0>")
    monkeypatch.delenv("NOT_SET", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """ok/ may be read, no/ and okother/ not; ok/link and ok/linkdir lead from one into the other."""
    for name in ("ok", "ok/sub", "no", "okother"):
        (tmp_path / name).mkdir()
    (tmp_path / "ok/a.properties").write_text("k=v1\npw=s3 \n")
    (tmp_path / "ok/one").write_text("line\n")
    (tmp_path / "ok/.hidden").write_text("hid")
    (tmp_path / "ok/binary").write_bytes(b"\xff\xfe")
    (tmp_path / "ok/broken.properties").write_text("a=b\nq=hunter2\\u12")
    (tmp_path / "no/b.properties").write_text("k=outside\n")
    (tmp_path / "okother/b.properties").write_text("k=outside\n")
    (tmp_path / "ok/link").symlink_to("../no/b.properties")
    (tmp_path / "ok/linkdir").symlink_to("../no")
    (tmp_path / "ok/inner").symlink_to("a.properties")
    return tmp_path


def resolve(value: str, worker: Mapping[str, str] = PROVIDERS) -> str:
    return Resolver.from_worker_config(worker).resolve({"key": value}).values["key"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${file:F/ok/a.properties:k}", "v1"),
        ("x${file:F/ok/a.properties:k}y${file:F/ok/a.properties:pw}z", "xv1ys3 z"),
        ("${env:TV}", "tval"),
        ("${env::TV}", "tval"),
        ("$${env:TV}", "$tval"),
        ("${env:TV2}", "${env:TV}"),
        ("${env:DOLLAR}", r"a$1\1\g<0>"),
        ("${dir:F/ok:one}", "line\n"),
        ("${dir:F/ok:.hidden}", "hid"),
        ("${file:F/ok/inner:k}", "v1"),
    ],
)
def test_a_variable_becomes_what_its_provider_finds(folder: Path, value: str, expected: str) -> None:
    assert resolve(value.replace("F/", f"{folder}/")) == expected


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        ("${file:F/ok/a.properties:nokey}", True),
        ("${file:F/ok/a.properties:}", True),
        ("${file::k}", True),
        ("${file:k}", True),
        ("${env:NOT_SET}", True),
        ("${env: TV}", True),
        ("${dir:one}", True),
        ("${dir:F/ok:sub}", True),
        ("${dir:F/ok:none}", True),
        ("${dir:F/ok:linkdir}", True),
        ("${dir:F/ok:sub/../one}", True),
        ("${dir:F/ok:}", True),
        ("${dir:F/absent:one}", True),
        ("${dir:F/ok/one:one}", True),
        ("${nope:a:b}", True),
        ("${nope:b}", True),
        ("${ENV:TV}", True),
        ("${ env:TV}", True),
        ("${topic}-${timestamp}", False),
        ("${}", False),
        ("${:}", False),
        ("${::}", False),
        ("${env:TV", False),
    ],
)
def test_what_is_not_found_is_reported_and_not_to_be_used(folder: Path, value: str, reported: bool) -> None:
    value = value.replace("F/", f"{folder}/")
    found = Resolver.from_worker_config(PROVIDERS).resolve({"key": value})
    assert found.values["key"] == value
    assert found.secret_keys == frozenset()
    assert [item.key for item in found.unresolved] == (["key"] if reported else [])
    assert found.usable().values == ({} if reported else {"key": value})
    if reported:
        with pytest.raises(ConfigError, match="has no value"):
            found.check()
    else:
        found.check()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${file:F/absent:k}", "there is no such file"),
        ("${file:F/ok:k}", "this is a directory"),
        ("${file:F/ok/broken.properties:q}", "four hexadecimal digits"),
        ("${dir:F/ok:binary}", "not UTF-8"),
        ("${env:p:TV}", "has no path"),
        ("${env:${env:TV}}", "has no path"),
    ],
)
def test_what_cannot_be_looked_up_is_an_error_that_names_the_key(folder: Path, value: str, message: str) -> None:
    found = Resolver.from_worker_config(PROVIDERS).resolve({"key": value.replace("F/", f"{folder}/")})
    with pytest.raises(ConfigError, match=message) as caught:
        found.check()
    assert caught.value.key == "key"
    assert "hunter2" not in str(caught.value)
    assert [each.failed for each in found.unresolved] == [True]


def test_all_that_has_no_value_is_told_at_once_as_far_as_it_matters(folder: Path) -> None:
    config = {"a": "${env:NOT_SET}", "b": f"${{file:{folder}/absent:k}}${{nope:x}}", "c": "${env:TV}"}
    found = Resolver.from_worker_config(PROVIDERS).resolve(config)
    assert [each.key for each in found.unresolved] == ["a", "b", "b"]
    assert found.unusable == {"a", "b"}
    assert found.usable().values == {"c": "tval"}
    found.check(lambda key: key == "c")
    with pytest.raises(ConfigError, match=r"NOT_SET.*; b: .*no such file.*; b: .*add to the worker's properties"):
        found.check()


def test_an_alias_that_is_nearly_one_is_named(folder: Path) -> None:
    (report,) = Resolver.from_worker_config(PROVIDERS).resolve({"key": "${ENV:TV}"}).unresolved
    assert "did you mean env?" in report.message


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("${file:F/ok/a.properties:k}", True),
        ("${file:F/ok/sub/../a.properties:k}", True),
        ("${file:F/ok/inner:k}", True),
        ("${dir:F/ok:one}", True),
        ("${file:F/no/b.properties:k}", False),
        ("${file:F/okother/b.properties:k}", False),
        ("${file:F/ok/../no/b.properties:k}", False),
        ("${file:F/no/absent:k}", False),
        ("${file:F/ok/link:k}", False),
        ("${file:F/ok/linkdir/b.properties:k}", False),
        ("${dir:F/no:b.properties}", False),
        ("${dir:F/ok:link}", False),
        ("${dir:F/ok/linkdir:b.properties}", False),
        ("${dir:F/ok/..:no}", False),
    ],
)
def test_nothing_outside_the_allowed_paths_is_read(folder: Path, value: str, allowed: bool) -> None:
    paths = f" {folder}/ok , {folder}/ok/sub"
    worker = PROVIDERS | {f"config.providers.{alias}.param.allowed.paths": paths for alias in ("file", "dir")}
    value = value.replace("F/", f"{folder}/")
    found = Resolver.from_worker_config(worker).resolve({"key": value})
    assert (found.values["key"] != value) == allowed
    assert bool(found.unresolved) != allowed


def test_a_relative_path_is_refused_when_paths_are_limited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert resolve("${file:ok/a.properties:k}") == "v1"
    limited = PROVIDERS | {"config.providers.file.param.allowed.paths": f"{folder}/ok"}
    assert resolve("${file:ok/a.properties:k}", limited) == "${file:ok/a.properties:k}"


def test_the_allowlist_must_match_the_whole_name() -> None:
    worker = PROVIDERS | {"config.providers.env.param.allowlist.pattern": "TV|D"}
    assert resolve("${env:TV}${env:TV2}${env:DOLLAR}", worker) == "tval${env:TV2}${env:DOLLAR}"


def test_keys_with_a_found_value_are_secret_and_values_do_not_show_when_printed() -> None:
    config = {"url": "db://u:${env:TV}@h", "plain": "p", "open": "${env:NOT_SET}"}
    found = Resolver.from_worker_config(PROVIDERS).resolve(config)
    assert found.secret_keys == {"url"}
    assert "tval" not in repr(found)


@pytest.mark.parametrize("alias", ["env", "file", "directory"])
def test_a_provider_that_was_not_declared_is_reported_with_the_lines_to_add(alias: str) -> None:
    found = Resolver.from_worker_config({}).resolve({"password": f"${{{alias}:/x:TV}}"})
    (report,) = found.unresolved
    assert report.key == "password"
    assert f"config.providers={alias} and config.providers.{alias}.class={JAVA}" in report.message


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("env.class", "", "add config.providers.env.class="),
        ("env.class", "Vault", 'no config provider "Vault"; there are DirectoryConfigProvider, E'),
        ("env.param.allowlist.pattern", "(", "not a regular expression"),
        ("file.param.allowed.paths", "etc", "not absolute"),
        ("dir.param.allowed.paths", "/no/such", "does not exist"),
    ],
)
def test_a_wrong_declaration_is_an_error_that_names_its_key(key: str, value: str, message: str) -> None:
    resolver = Resolver.from_worker_config(PROVIDERS | {f"config.providers.{key}": value})
    (problem,) = resolver.problems
    assert problem.key == f"config.providers.{key}"
    assert re.search(message, problem.message)
    # Whoever uses it is told where to look; others work.
    found = resolver.resolve({"uses": f"${{{key.partition('.')[0]}:/x:TV}}", "plain": "p"})
    assert [(each.key, problem.key in each.message) for each in found.unresolved] == [("uses", True)]


def test_all_wrong_declarations_are_told() -> None:
    wrong = {"config.providers.env.class": "Vault", "config.providers.dir.param.allowed.paths": "etc"}
    assert [each.key for each in Resolver.from_worker_config(PROVIDERS | wrong).problems] == sorted(wrong)


class Vault(ConfigProvider):
    """Answers with the key itself, and counts."""

    asked: list[tuple[str, frozenset[str]]]
    closed = False

    def configure(self, params: Mapping[str, str]) -> None:
        self.asked = []
        self.suffix = params["suffix"]

    def get(self, path: str, keys: frozenset[str]) -> ProviderData:
        self.asked.append((path, keys))
        return ProviderData({key: key + self.suffix for key in keys})

    def close(self) -> None:
        self.closed = True


def test_a_provider_is_configured_asked_once_for_each_path_and_closed() -> None:
    made: list[Vault] = []

    class Kept(Vault):
        def __init__(self) -> None:
            made.append(self)

    worker = {
        "config.providers": "v",
        "config.providers.v.class": "Vault",
        "config.providers.v.param.suffix": "!",
    }
    resolver = Resolver.from_worker_config(worker, {"Vault": Kept})
    found = resolver.resolve({"a": "${v:300:x}${v:300:y}", "b": "${v:300:x}", "c": "${v:20:z}", "d": "${v:q}"})
    assert found.values == {"a": "x!y!", "b": "x!", "c": "z!", "d": "q!"}
    assert sorted((path, sorted(keys)) for path, keys in made[0].asked) == [
        ("", ["q"]),
        ("20", ["z"]),
        ("300", ["x", "y"]),
    ]
    assert not made[0].closed
    resolver.close()
    assert made[0].closed


def test_a_worker_without_providers_changes_nothing() -> None:
    config = {"a": "${topic}", "b": os.sep}
    assert Resolver.from_worker_config({}).resolve(config).values == config


# Limits: whoever may write a connector chooses paths and numbers.


def test_a_file_without_an_end_or_a_beginning_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "ok/pipe")
    (folder / "ok/large.properties").write_bytes(b"k=" + b"x" * (1 << 20))
    (folder / "ok/just.properties").write_bytes(b"k=" + b"x" * ((1 << 20) - 2))
    unfit, large, no_path = (
        "is not a regular file, but a device, a pipe or",
        "is larger than 1 MiB; name a smaller",
        "a path is",
    )
    for value, message in {
        "${file:/dev/zero:k}": unfit,
        f"${{file:{folder}/ok/pipe:k}}": unfit,
        f"${{file:{folder}/ok/large.properties:k}}": large,
        f"${{file:/{'a/' * 5000}:k}}": no_path,
        "${file:\0:k}": no_path,
        "${file:\ud800:k}": no_path,
        "${dir:/dev:zero}": unfit,
        f"${{dir:{folder}/ok:pipe}}": unfit,
        f"${{dir:{folder}/ok:large.properties}}": large,
        f"${{dir:{'a' * 5000}:k}}": no_path,
        f"${{dir:{folder}/ok:{'a' * 300}}}": "finds no",
    }.items():
        (report,) = Resolver.from_worker_config(PROVIDERS).resolve({"key": value}).unresolved
        assert message in report.message
    assert len(resolve(f"${{file:{folder}/ok/just.properties:k}}")) == (1 << 20) - 2


def test_a_file_that_a_limited_path_leads_to_may_not_become_a_link_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = PROVIDERS | {"config.providers.file.param.allowed.paths": f"{folder}/ok"}
    monkeypatch.setattr(os.path, "realpath", str)  # as if the link had come after the look
    found = Resolver.from_worker_config(limited).resolve({"key": f"${{file:{folder}/ok/link:k}}"})
    assert "outside" not in found.values["key"]
    assert found.unresolved


def test_of_a_directory_only_what_is_asked_for_is_read_and_a_mebibyte_in_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (folder / f"ok/half{number}").write_bytes(b"x" * (1 << 19))
    config = {f"k{number}": f"${{dir:{folder}/ok:half{number}}}" for number in range(3)}
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", None)  # it may have any number of files
        patched.setattr(os, "listdir", None)
        assert len(resolve(f"${{dir:{folder}/ok:half0}}${{dir:{folder}/ok:half1}}")) == 1 << 20
        found = Resolver.from_worker_config(PROVIDERS).resolve(config)
    assert "larger than 1 MiB together" in found.unresolved[0].message


def test_a_configuration_is_not_made_endless_by_what_providers_give(folder: Path) -> None:
    (folder / "ok/big.properties").write_text("k=" + "x" * 1_000_000)
    variable = f"${{file:{folder}/ok/big.properties:k}}"
    found = Resolver.from_worker_config(PROVIDERS).resolve({"few": variable * 3, "many": variable * 5000})
    assert len(found.values["few"]) == 3_000_000
    assert len(found.values["many"]) < 2_000_000
    assert {each.key for each in found.unresolved} == {"many"}
    assert "providers gave more than" in found.unresolved[0].message


class Counting(ConfigProvider):
    asked = 0

    def configure(self, params: Mapping[str, str]) -> None:
        self.asked = 0

    def get(self, path: str, keys: frozenset[str]) -> ProviderData:
        self.asked += 1
        return ProviderData(dict.fromkeys(keys, "v"))


def test_a_configuration_looks_into_a_limited_number_of_places() -> None:
    provider = Counting()
    provider.configure({})
    config = {f"k{number}": f"${{c:/{number}:x}}" for number in range(1000)}
    found = Resolver({"c": provider}).resolve(config)
    assert provider.asked == 250
    assert len(found.unresolved) == 750
    assert "250 places at most" in found.unresolved[0].message


@pytest.mark.parametrize(
    ("params", "keys"),
    [
        ({}, ["file.param.allowed.paths", "dir.param.allowed.paths", "env.param.allowlist.pattern"]),
        ({"file.param.allowed.paths": "/", "dir.param.allowed.paths": "/"}, ["env.param.allowlist.pattern"]),
        ({"file.param.allowed.paths": " "}, ["file.param.allowed.paths", "dir.param.allowed.paths", "env.param."]),
        ({"env.param.allowlist.pattern": "A.*"}, ["file.param.allowed.paths", "dir.param.allowed.paths"]),
    ],
)
def test_a_provider_that_reads_everything_is_doubted(params: Mapping[str, str], keys: list[str]) -> None:
    worker = PROVIDERS | {f"config.providers.{key}": value for key, value in params.items()}
    doubts = Resolver.from_worker_config(worker).doubts
    assert len(doubts) == len(keys)
    for (key, message), expected in zip(doubts, keys, strict=True):
        assert key.startswith(f"config.providers.{expected}")
        assert message.startswith("is not set: who may write a connector can read every ")
    assert not Resolver.from_worker_config({}).doubts
