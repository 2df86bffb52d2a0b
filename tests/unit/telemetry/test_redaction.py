import logging
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.telemetry.redaction import MASK, RedactingFilter, Redactor, names_a_secret


@pytest.fixture
def redactor() -> Redactor:
    return Redactor()


def record(msg: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("connect.test", logging.INFO, __file__, 1, msg, args, None)


def filtered(redactor: Redactor, log: logging.LogRecord) -> logging.LogRecord:
    assert RedactingFilter(redactor).filter(log)
    return log


def test_a_known_secret_is_hidden_wherever_it_stands(redactor: Redactor) -> None:
    redactor.remember(["hunter2", "hunter2-long"])
    assert redactor.redact("login with hunter2 failed, hunter2-long too") == f"login with {MASK} failed, {MASK} too"


@given(st.text(min_size=4).filter(lambda text: text.strip() == text), st.text(), st.text())
def test_no_known_secret_survives(secret: str, before: str, after: str) -> None:
    redactor = Redactor()
    redactor.remember([secret])
    if secret not in before + MASK + after:
        assert secret not in redactor.redact(before + secret + after)


@pytest.mark.parametrize(
    "shown",
    [
        '{"user": "pa\\"ss\\\\w\\u00f6rd"}',
        '{"user": "pa\\"ss\\\\wörd"}',
        "http://h/?p=pa%22ss%5Cw%C3%B6rd",
        "'pa\"ss\\\\wörd'",
    ],
)
def test_a_secret_is_hidden_as_it_looks_inside_json_and_urls(redactor: Redactor, shown: str) -> None:
    redactor.remember(['pa"ss\\wörd'])
    assert "ss" not in redactor.redact(shown)


def test_a_key_of_several_lines_is_hidden_line_by_line(redactor: Redactor) -> None:
    redactor.remember(["-----BEGIN KEY-----\nMIIabcdef\nQQQQzzzz\n-----END KEY-----\n"])
    assert redactor.redact("line 2 is MIIabcdef here") == f"line 2 is {MASK} here"


def test_a_secret_of_a_file_is_hidden_without_the_line_end_of_the_file(redactor: Redactor) -> None:
    redactor.remember(["hunter2\n", '\tpa"ss\r\n', "abc\n"])
    assert redactor.redact("user 'hunter2' abc") == f"user '{MASK}' abc"
    assert redactor.redact('{"user": "hunter2\\n"}') == f'{{"user": "{MASK}"}}'
    assert redactor.redact("p=pa%22ss&q=1") == f"p={MASK}&q=1"


def test_thousands_of_secrets_are_remembered_one_after_another(redactor: Redactor) -> None:
    began = time.monotonic()
    for number in range(1_000):
        redactor.remember([f"secret-of-{number}", f"{number:06}-other"])
    assert time.monotonic() - began < 5  # a pattern of all of them, compiled each time, takes a minute
    text = "secret-of-7 000007-other secret-of-77 secret-of-x"
    assert redactor.redact(text) == f"{MASK} {MASK} {MASK} secret-of-x"


def test_a_mask_stays_as_it_is_whatever_is_a_secret(redactor: Redactor) -> None:
    redactor.remember(["hidden", "[hid", "]hidden"])
    assert redactor.redact(f"a {MASK}{MASK}hidden [hid x") == f"a {MASK}{MASK}{MASK} {MASK} x"


def test_what_is_too_short_does_not_tear_holes(redactor: Redactor) -> None:
    redactor.remember(["a", "", "abc"])
    assert redactor.redact("abc is a text") == "abc is a text"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password=s3cret, user=u", f"password={MASK}, user=u"),
        ("ssl.keystore.password = s3cret", f"ssl.keystore.password = {MASK}"),
        ("aws_secret_access_key='s3 cret'", f"aws_secret_access_key={MASK}"),
        (
            '{"connection.password": "s3\\"cret", "tasks.max": "1"}',
            f'{{"connection.password": {MASK}, "tasks.max": "1"}}',
        ),
        ("{'api.key': 's3cret'}", f"{{'api.key': {MASK}}}"),
        (
            'sasl.jaas.config=org.apache.PlainLoginModule required username="u" password="s3cret"; next',
            f"sasl.jaas.config={MASK}; next",
        ),
        ('"sasl.jaas.config": "x required password=\\"s3cret\\";", "a": "b"', f'"sasl.jaas.config": {MASK}, "a": "b"'),
        ("Authorization: Basic dTpz3cret", f"Authorization: Basic {MASK}"),
        ("postgresql://connect:s3cret@db:5432/x", f"postgresql://connect:{MASK}@db:5432/x"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_though_nobody_said_it_is_one(
    redactor: Redactor, text: str, expected: str
) -> None:
    assert redactor.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "wrote 30,000 records to PostgreSQL table orders in 0.21 s",
        "sasl.oauthbearer.token.endpoint.url=https://login.example/token",
        "invalid token: expected '}'",
        "the password is wrong",
        "http://localhost:8083/connectors",
        'worker.properties:8: key "sasl.jaas.config": it does not read: <login module> <option>=<value> ... ;',
        'w.properties:8: key "sasl.jaas.config": ${file:/etc/s:p} has no value: config provider "file": no file',
        "key.converter=org.apache.kafka.connect.storage.StringConverter",
    ],
)
def test_other_texts_stay_as_they_are(redactor: Redactor, text: str) -> None:
    assert redactor.redact(text) == text


@pytest.mark.promise("P8")
@pytest.mark.parametrize(
    "key",
    [
        *("db.pass", "db_password", "pwd", "passcode", "pin", "github.pat", "auth.bearer", "authorization"),
        *("http.header.Authorization", "signature.key", "signing-key", "ssl.key", "api.key", "apiKey", "sig"),
        *("access.token", "client.secret.id", "ssl.keystore.key", "basic.auth.user.info", "sasl.jaas.config"),
        "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.fixed.token.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.account.oauth2.refresh.token.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.orders.lake.blob.core.windows.net",
    ],
)
def test_a_key_says_by_its_name_that_it_is_secret(key: str) -> None:
    assert names_a_secret(key)
    assert names_a_secret(key.upper())


@pytest.mark.parametrize(
    "key",
    [
        *("key.converter", "compass", "bypass", "spin", "path", "pattern", "topic.pattern", "authorization.url"),
        *("tokens.max", "group.id", "message.key.columns", "ssl.key.location", "design", "monkey"),
        "spark.hadoop.fs.azure.account.auth.type.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.token.provider.type.lake.dfs.core.windows.net",
    ],
)
def test_other_keys_are_shown(key: str) -> None:
    assert not names_a_secret(key)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["a.", "password", "://", '"', "password=", "sasl.jaas.config", "a "])
def test_a_long_line_does_not_hold_the_task_up(redactor: Redactor, part: str) -> None:
    redactor.remember(["hunter2"])
    redactor.redact(part * 200_000)


def test_a_log_record_is_redacted_in_message_arguments_and_trace(redactor: Redactor) -> None:
    redactor.remember(["hunter2"])
    log = record("%s with %r", "login", {"with": "hunter2"})
    try:
        raise ValueError("bad hunter2")
    except ValueError:
        log.exc_info = sys.exc_info()
    log.stack_info = "in hunter2"
    filtered(redactor, log)
    shown = logging.Formatter("%(message)s").format(log)
    assert "hunter2" not in shown
    assert f"ValueError: bad {MASK}" in shown


def test_arguments_that_do_not_fit_do_not_fail_the_code_that_logs(redactor: Redactor) -> None:
    assert "do not fit" in filtered(redactor, record("%d of %d", "x")).getMessage()
