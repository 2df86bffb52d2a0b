"""A password with any signs, in any form of address, in any text: hidden whole, and hidden once."""

import json
import time
from collections.abc import Callable
from itertools import product
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.telemetry.redaction import MASK, Redactor, shown

redact = Redactor().redact

EXAMPLES = 20  # of each form in each test
#: In every password, between all that is not a letter: nothing of it may be left.
MARK = "Qz"
ANY = st.sampled_from(
    [*"""]),}({[;&?=@:/\\'"`#%+ .!$*<>|~^-_\t""", "é", "ß", "\u00a0", "1", "漢", "🐘", "}}", "''", "a=b"],
)


def passwords(without: str = "", last_without: str = "") -> st.SearchStrategy[str]:
    """Passwords of signs that a form can carry. Most forms do not count space at the beginning."""
    signs = ANY.filter(lambda sign: not set(sign) & set(without))
    parts = st.lists(signs, max_size=3).map("".join)
    return (
        st.lists(parts, min_size=2, max_size=5)
        .map(MARK.join)
        .filter(lambda text: not text[0].isspace() and text[-1] not in last_without)
    )


def libpq_quoted(password: str) -> str:
    return "'" + password.replace("\\", "\\\\").replace("'", "\\'") + "'"


def braced(password: str) -> str:
    return "{" + password.replace("}", "}}") + "}"


def doubled(password: str) -> str:
    return "'" + password.replace("'", "''") + "'"


def encoded(password: str) -> str:
    return quote(password, safe="")


Form = tuple[str, st.SearchStrategy[str], str]
everything = passwords()
#: What stands before and behind a password, and passwords as that form writes them.
FORMS: dict[str, Form] = {
    "libpq, quoted": ("host=h password=", everything.map(libpq_quoted), " user=me"),
    "libpq, quoted, first": ("password=", everything.map(libpq_quoted), " host=h"),
    "libpq, raw": ("host=h password=", passwords(" \t'\\"), " user=me"),
    "libpq, raw, last": ("host=h user=me password=", passwords(" \t'\\"), ""),
    "libpq's URL": ("postgresql://me:", everything.map(encoded), "@h:5432/db?sslmode=require"),
    "libpq's URL, in the query": ("postgresql://h/db?user=me&password=", everything.map(encoded), "&sslmode=require"),
    "JDBC, PostgreSQL": ("jdbc:postgresql://h:5432/db?user=a@b&password=", passwords("& \t"), "&ssl=true"),
    "JDBC, PostgreSQL, first": ("jdbc:postgresql://h:5432/db?password=", passwords("& \t"), "&user=me"),
    "JDBC, Redshift": ("jdbc:redshift://h:5439/db?UID=me&PWD=", passwords("& \t"), ""),
    "JDBC, MySQL": ("jdbc:mysql://h:3306,h2:3306/db?user=me&password=", passwords("& \t"), "&useSSL=true"),
    "JDBC, MySQL, user info": ("jdbc:mysql://me:", everything.map(encoded), "@h:3306/db?useSSL=true"),
    "JDBC, MySQL, hosts": ("jdbc:mysql://address=(host=h)(user=me)(password=", everything.map(encoded), ")(port=1)/db"),
    "JDBC, MySQL, keys": ("jdbc:mysql://(host=h,user=me,password=", everything.map(encoded), ",port=3306)/db"),
    "JDBC, MariaDB": ("jdbc:mariadb://h/db?user=me&password=", passwords("& \t"), ""),
    "JDBC, SQL Server": ("jdbc:sqlserver://h:1433;user=me;password=", passwords(";{"), ";databaseName=db"),
    "JDBC, SQL Server, braces": ("jdbc:sqlserver://h;user=me;password=", everything.map(braced), ";databaseName=db"),
    "JDBC, jTDS": ("jdbc:jtds:sqlserver://h:1433/db;user=me;password=", passwords(";{"), ""),
    "JDBC, Sybase": ("jdbc:sybase:Tds:h:5000/db?USER=me&PASSWORD=", passwords("& \t"), ""),
    "JDBC, Oracle": ("jdbc:oracle:thin:me/", passwords('@ \t"/'), "@//h:1521/service"),
    "JDBC, Oracle, quoted": ('jdbc:oracle:thin:me/"', passwords('"'), '"@h:1521:sid'),
    "JDBC, Db2": ("jdbc:db2://h:50000/db:user=me;password=", passwords(";{"), ";"),
    "JDBC, Informix": ("jdbc:informix-sqli://h:1533/db:INFORMIXSERVER=s;user=me;password=", passwords(";{"), ""),
    "JDBC, H2": ("jdbc:h2:tcp://h/~/db;USER=sa;PASSWORD=", passwords(";{"), ";MODE=Oracle"),
    "JDBC, HSQLDB": ("jdbc:hsqldb:hsql://h/db;user=sa;password=", passwords(";{"), ""),
    "JDBC, Derby": ("jdbc:derby://h:1527/db;user=me;password=", passwords(";{"), ";create=true"),
    "JDBC, Hive": ("jdbc:hive2://h:10000/db;user=me;password=", passwords(";{?"), ";ssl=true"),
    "JDBC, Snowflake": ("jdbc:snowflake://a.snowflakecomputing.com/?user=me&password=", passwords("& \t"), "&db=d"),
    "JDBC, HANA": ("jdbc:sap://h:30015/?user=me&password=", passwords("& \t"), ""),
    "JDBC, Teradata": ("jdbc:teradata://h/USER=me,PASSWORD=", everything.map(doubled), ",DATABASE=db"),
    "JDBC, ClickHouse": ("jdbc:clickhouse://me:", everything.map(encoded), "@h:8123/db"),
    # (Digits may be a port, and what follows of a path or a query has no password.)
    "SQLAlchemy": (
        "postgresql+psycopg://me:",
        passwords("@").filter(lambda text: text[0] not in "1/?#"),
        "@h:5432/db",
    ),
    "SQLAlchemy, encoded": ("oracle+oracledb://me:", everything.map(quote_plus), "@h:1521/?service_name=s"),
    "user info with @": ("https://me@there:", passwords("/?# \t\"'`\\<>{}|^[]"), "@h:8081"),
    "user info of several": ("mongodb://me:", everything.map(encoded), "@h1:27017,h2:27017/db?replicaSet=r"),
    "user info without user": ("redis://:", everything.map(encoded), "@h:6379/0"),
    "ODBC": ("Driver={x};Server=h;UID=me;PWD=", passwords(";{", " \t"), ";Database=db"),
    "ODBC, braces": ("Driver={x};Server=h;UID=me;PWD=", everything.map(braced), ";Database=db"),
    "ODBC, first": ("PWD=", everything.map(braced), ";Server=h"),
    "ADO": ("Server=h; User Id=me; Password=", passwords(";{'\"", " \t"), "; Database=db"),
    "Azure": ("AccountName=me;AccountKey=", passwords(";{'\""), ";EndpointSuffix=x"),
    "Azure, signed": ("https://a.blob.core.windows.net/c?sv=1&sig=", everything.map(encoded), "&se=2"),
    "S3, signed": ("https://b.s3.amazonaws.com/k?X-Amz-Signature=", everything.map(encoded), "&X-Amz-Date=1"),
    "short names": ("host=h db.pass=", passwords(" \t'\\"), " user=me"),
    "Oracle's easy connect": ("me/", passwords('@ \t"/'), "@//h:1521/service"),
    "JAAS": (
        'PlainLoginModule required username="me" password="',
        everything.map(lambda text: text.replace("\\", "\\\\").replace('"', '\\"')),
        '";',
    ),
}

QUOTED = {"libpq, quoted", "libpq, quoted, first", "JDBC, Teradata"}

#: How an address gets into a text. The first argument is the address.
TEXTS: dict[str, Callable[[str], str]] = {
    "a log line": lambda text: f"connect to {text}",
    "lines": lambda text: f"first line\nERROR orders-0 {text}\nlast line",
    "JSON": lambda text: json.dumps({"a": "x y", "connection.url": text, "tasks.max": "1"}),
    "JSON in plain letters": lambda text: json.dumps({"a": "x y", "connection.url": text, "b": []}, ensure_ascii=False),
    "compact JSON": lambda text: json.dumps({"a": 1, "url": text, "b": {"c": "d"}}, separators=(",", ":")),
    "JSON in JSON": lambda text: json.dumps({"body": json.dumps({"url": text, "b": "c"}), "d": "e"}),
    "repr": lambda text: repr({"a": "x y", "url": text, "b": 1}),
    "an exception": lambda text: f"OperationalError({text!r})",
    "properties": lambda text: f"name=orders\nconnection.url={text}\ntasks.max=1",
}


def form(name: str) -> st.SearchStrategy[tuple[str, str, str]]:
    before, written, behind = FORMS[name]
    return st.tuples(st.just(before), written, st.just(behind))


@pytest.mark.promise("P8")
@pytest.mark.parametrize("behind", ["", ",LOG=DEBUG", '"'])
def test_a_password_that_begins_with_a_doubled_quotation_mark_is_not_empty(behind: str) -> None:
    text = f"jdbc:teradata://host/USER=etl,PASSWORD='''\t{MARK}'{behind}"
    assert MARK not in shown(text, secret=False)
    assert shown("jdbc:teradata://host/USER=etl,PASSWORD='',LOG=DEBUG", secret=False).endswith(",LOG=DEBUG")


@pytest.mark.promise("P8")
@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_in_a_setting_a_password_is_hidden_exactly(name: str, data: st.DataObject) -> None:
    before, written, behind = data.draw(form(name))
    hidden = shown(before + written + behind, secret=False)
    exact = {before + MASK + behind, before.removesuffix('"') + MASK + behind.removeprefix('"')}
    if written[0] in "'\"`\\{" or written[-1] in "\\'\"":  # may go on behind the password
        assert any(each.startswith(hidden) for each in exact) or MARK not in hidden
    else:
        assert hidden in exact
    assert shown(hidden, secret=False) == hidden
    assert redact(hidden) == hidden


@pytest.mark.promise("P8")
@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=EXAMPLES)
@given(data=st.data(), text=st.sampled_from(sorted(TEXTS)))
def test_in_a_text_nothing_of_a_password_is_left(name: str, data: st.DataObject, text: str) -> None:
    whole = TEXTS[text]("".join(data.draw(form(name))))
    hidden = redact(whole)
    assert MARK not in hidden
    assert MASK in hidden
    assert redact(hidden) == hidden
    if text == "lines":
        assert hidden.startswith("first line\nERROR orders-0 ")
        assert hidden.endswith("\nlast line")


@pytest.mark.promise("P8")
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("mark", ['"', "'"])
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_nothing_is_left_in_quotation_marks_that_nobody_escaped(name: str, mark: str, data: st.DataObject) -> None:
    before, written, behind = data.draw(form(name))
    if mark in before + behind or name in QUOTED:
        return  # where the string ends nobody can tell
    written = written.replace(mark, f"{mark}x")  # nor here: "a", b"
    hidden = redact(f"could not connect to {mark}{before}{written}{behind}{mark}: no answer in 3 s")
    assert MARK not in hidden
    assert hidden.startswith("could not connect to ")


FRAGMENTS = st.sampled_from(
    [
        *("password=", "PWD=", "token = ", "'api.key': ", '"secret": ', '\\"password\\": \\"', "sasl.jaas.config="),
        *("://", "://me:", "https://h:80", "jdbc:", "jdbc:oracle:thin:me/", "@//", "Authorization: Basic ", MASK),
        *list("@:/?&;,=({})[] \n'\"\\`#"),
        *("abc", "host=h", "user=", "${env:X}", "'a b'", "{a;b}", "x y"),
    ]
)


@given(st.lists(FRAGMENTS, max_size=25).map("".join), st.booleans())
@settings(max_examples=1000)
def test_what_is_hidden_is_never_hidden_again(text: str, whole: bool) -> None:
    once = redact(text, whole=whole)
    assert redact(once, whole=whole) == once


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            "jdbc:postgresql://127.0.0.1:34432/nodb?user=leaky&password=top)Secret99",
            f"jdbc:postgresql://127.0.0.1:34432/nodb?user=leaky&password={MASK}",
        ),
        ("password=top]Secret99&ssl=false", f"password={MASK}&ssl=false"),
        ("password=top,Secret99", f"password={MASK}"),
        ("postgresql://me:to/pSecret99@h/db", f"postgresql://me:{MASK}@h/db"),
        ("postgresql://me:to p@S@h/db", f"postgresql://me:{MASK}@h/db"),
        ("jdbc:postgresql://h/db?user=me&password=${env:PW}&ssl=true", None),
        ("jdbc:postgresql://h:5432/db?user=me@company&ssl=true", None),
        ("postgresql://h:5432/db?user=me@company", None),
        ("jdbc:mysql://h1:3306,h2:3306/db?user=me@company", None),
        ("jdbc:oracle:thin:@//h:1521/service", None),
        ("http://localhost:8083/connectors/a@b/status", None),
        ("http://[::1]:8081,http://other:8081", None),
        ("http://a:b@one:8081,http://c:d@two:8081", f"http://a:{MASK}@one:8081,http://c:{MASK}@two:8081"),
        ('{"password": "[hidden]", "a": 1}', None),
        ("Bearer x", f"Bearer {MASK}"),
        ("Bearer ${env:TOKEN}", None),
        ("Basic dXNlcjpw", f"Basic {MASK}"),
        ("Basic plan", None),
        ("a compass=3", None),
        ("https://h/design=new", None),
        ("${file:/etc/orders:password}", None),
        ('key "connection.password": ${file:/etc/orders:password} has no value', None),
        ('"password": ${env:A}behind', f'"password": {MASK}'),
        ("-----BEGIN CERTIFICATE-----\nMIIa\n-----END CERTIFICATE-----", None),
        ("${env:A} password=${b}", f"${{env:A}} password={MASK}"),
    ],
)
def test_a_setting_is_shown_so(value: str, expected: str | None) -> None:
    assert shown(value, secret=False) == (value if expected is None else expected)


KEY = "\n".join(["-----BEGIN {}-----", "Qz" * 32, "Qz" * 9 + "==", "-----END {}-----"])


@pytest.mark.promise("P8")
@pytest.mark.parametrize("kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("before", ["", "private.key=", "cert.pem=-----BEGIN CERTIFICATE-----\nMIIa\n"])
@pytest.mark.parametrize("cut", [False, True])
def test_nothing_of_a_private_key_is_left(kind: str, text: str, before: str, cut: bool) -> None:
    key = KEY.format(kind, kind)
    hidden = redact(TEXTS[text](before + (key[: key.index("==")] if cut else key)))
    assert MARK not in hidden
    assert MASK in hidden
    assert redact(hidden) == hidden
    if text == "lines" and not cut:
        assert hidden.endswith("\nlast line")


@pytest.mark.promise("P8")
@pytest.mark.parametrize("token", ["eyJQz.QzIUzI1NiJ9.Qz_s-", "Qz12345678==", "ghp_Qz0123Qz"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_token_is_hidden_behind_its_scheme(token: str, text: str) -> None:
    hidden = redact(TEXTS[text](f"http.headers=X-Auth: Bearer {token}"))
    assert MARK not in hidden
    assert f"X-Auth: Bearer {MASK}" in hidden


PARTS = [
    *("password=", "password='", 'token="', "password={", ";PWD=", "?password=", "&password=", ",secret="),
    *("Bearer ", "Basic aB", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "-----END PRIVATE KEY-----"),
    *("&sig=", "pin=", "pat", "sig"),
    *("(password=", '"password": "', '\\"', "sasl.jaas.config=", "Authorization: ", "://", "://a:", "@//", "a/b"),
    *("jdbc:oracle:thin:a/", "{", "}", "(", ")", "'", '"', "\\", " ", "\n", ";", ",", "@", ":", "a=", "x", "${", MASK),
]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_time_goes_with_the_length_of_a_line() -> None:
    for one, other in product(PARTS, PARTS):
        text = (one + other) * (30_000 // len(one + other))
        began = time.process_time()
        redact(text)
        redact(text, whole=True)
        assert time.process_time() - began < 2, f"{one + other!r} repeated"  # 0.2 s at most where it is linear
