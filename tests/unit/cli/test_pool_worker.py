"""What is said of a pool worker's file before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from connect.cli._pool_worker import check_pool_worker
from connect.cli._problems import Problems
from connect.cli._rest import take_addresses
from connect.cli._worker_files import worker_of
from connect.settings.properties import loads
from connect.settings.worker_keys import DISTRIBUTED

FILE = """\
bootstrap.servers=localhost:9092
group.id=pool
key.converter=StringConverter
value.converter=StringConverter
config.storage.topic=configs
offset.storage.topic=offsets
status.storage.topic=statuses
"""
SIGNED, VERIFIED = "inter.worker.signature.algorithm", "inter.worker.verification.algorithms"


def said(lines: str = "") -> list[str]:
    problems = Problems(["w.properties"])
    check_pool_worker(worker_of(loads(FILE + lines, "w.properties"), problems, DISTRIBUTED), problems)
    return problems.errors()


@pytest.mark.parametrize(
    "lines",
    [
        "",
        f"{SIGNED}=HmacSHA512\n{VERIFIED}=HmacSHA256,HmacSHA512\n",
        f"{SIGNED}=hmacsha256\n",
        "inter.worker.key.size=40\n",
    ],
)
def test_workers_that_believe_each_other_start(lines: str) -> None:
    assert said(lines) == []


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (f"{SIGNED}=HmacSHA512\n", f'key "{VERIFIED}": lacks HmacSHA512'),
        (f"{VERIFIED}=HmacSHA512\n", f'key "{VERIFIED}": lacks HmacSHA256'),
        (f"{SIGNED}=RSA\n{VERIFIED}=RSA\n", f'key "{SIGNED}": "RSA" is not known here'),
        (f"{VERIFIED}=HmacSHA256,RSA\n", f'key "{VERIFIED}": "RSA" is not known here'),
        ("inter.worker.key.size=7\n", 'key "inter.worker.key.size": 7 is too small; the least is 40'),
        ("inter.worker.key.size=-256\n", 'key "inter.worker.key.size": -256 is too small'),
    ],
)
def test_workers_that_would_refuse_each_others_requests_do_not_start(lines: str, words: str) -> None:
    assert any(words in error for error in said(lines)), said(lines)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("add X-Frame-Options: DENY", None),
        ("frame: DENY", 'key "response.http.headers.config": "frame: DENY" is not a rule. Write one like: add'),
    ],
)
def test_a_wrong_rule_for_headers_is_said_before_the_worker_starts(rule: str, words: str | None) -> None:
    said = said_of_addresses(f"listeners=http://127.0.0.1:0\nresponse.http.headers.config={rule}\n")
    assert [words in error for error in said] == ([True] if words else [])


@pytest.mark.parametrize("which", ["", "admin."])
@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "an https listener needs a certificate with its key"),
        ({"keystore.type": "PEM", "keystore.location": "absent.pem"}, "no certificate with its key can be read"),
    ],
)
def test_an_https_listener_without_its_certificate_is_said_before_the_worker_starts(
    which: str, keys: dict[str, str], words: str
) -> None:
    """As in Kafka Connect. The worker ran without its REST API, which the others of a pool ask."""
    lines = [f"listeners=http{'' if which else 's'}://127.0.0.1:0", f"{which}listeners=https://127.0.0.1:0"]
    lines += [f"{which}listeners.https.ssl.{key}={value}" for key, value in keys.items()]
    (said,) = said_of_addresses("\n".join(dict.fromkeys(lines)) + "\n")
    assert words in said
    assert f'key "{which}listeners.https.ssl.keystore.location"' in said or not keys


def test_a_wrong_pattern_for_origins_is_said_before_the_worker_starts() -> None:
    (said,) = said_of_addresses("listeners=http://127.0.0.1:0\naccess.control.allow.origin=https://(ui\n")
    assert 'key "access.control.allow.origin": "https://(ui" is not a regular expression' in said


def said_of_addresses(lines: str) -> list[str]:
    """What is wrong with a worker's file with these lines, when it has taken its addresses."""
    problems = Problems(["w.properties"])
    addresses = take_addresses(worker_of(loads(FILE + lines, "w.properties"), problems, DISTRIBUTED), problems)
    assert addresses is not None
    for bound in [*addresses.main, *(addresses.admin or [])]:
        bound.socket.close()
    return list(problems.errors())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("logging:getLogger", None),
        ("org.example.Extension", 'key "rest.extension.classes": "org.example.Extension" cannot be loaded'),
        ("broken_extension:add", "cannot be loaded (RuntimeError: no licence)"),
    ],
)
def test_an_extension_that_cannot_be_loaded_is_said_before_the_worker_starts(
    name: str, words: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Kafka Connect. The worker ran without its REST API, or without what was to guard it."""
    (tmp_path / "broken_extension.py").write_text("raise RuntimeError('no licence')\n")
    monkeypatch.syspath_prepend(tmp_path)
    said = said_of_addresses(f"listeners=http://127.0.0.1:0\nrest.extension.classes={name}\n")
    assert [words in error for error in said] == ([True] if words else [])
