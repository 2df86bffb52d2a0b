"""JDBC URLs and SQLAlchemy's, as the URLs of Python's drivers."""

import ssl
import subprocess
from pathlib import Path
from typing import Any

import pymysql
import pytest

from connect import ConfigError
from connectors.jdbc.database.url import translate


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("jdbc:postgresql://db:5433/shop", "postgresql+psycopg://db:5433/shop"),
        ("jdbc:postgresql://db/shop", "postgresql+psycopg://db:5432/shop"),
        ("jdbc:postgresql://[::1]:5433/shop", "postgresql+psycopg://[::1]:5433/shop"),
        ("jdbc:postgresql:shop", "postgresql+psycopg://localhost:5432/shop"),
        (" jdbc:postgresql://db/a%20b ", "postgresql+psycopg://db:5432/a b"),
        ("jdbc:postgresql://db/shop?user=me&password=p%40ss", "postgresql+psycopg://me:p%40ss@db:5432/shop"),
        ("jdbc:postgresql://db/shop?sslmode=require", "postgresql+psycopg://db:5432/shop?sslmode=require"),
        ("jdbc:postgresql://db/shop?ssl=true", "postgresql+psycopg://db:5432/shop?sslmode=verify-full"),
        (
            "jdbc:postgresql://db/shop?ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory",
            "postgresql+psycopg://db:5432/shop?sslmode=require",
        ),
        (
            "jdbc:postgresql://one,two/shop?targetServerType=preferSecondary",
            "postgresql+psycopg:///shop?host=one%3A5432&host=two%3A5432&target_session_attrs=prefer-standby",
        ),
        (
            "jdbc:postgresql://db/shop?targetServerType=slave",
            "postgresql+psycopg://db:5432/shop?target_session_attrs=standby",
        ),
        ("jdbc:postgresql://db/shop?reWriteBatchedInserts=true", "postgresql+psycopg://db:5432/shop"),
        (
            "jdbc:postgresql://db/shop?currentSchema=a,b&ApplicationName=x",
            "postgresql+psycopg://db:5432/shop?application_name=x&options=-csearch_path%3Da%2Cb",
        ),
        (
            "jdbc:postgresql://db/shop?currentSchema=%22My%20Shop%22,%20b",
            "postgresql+psycopg://db:5432/shop?options=-csearch_path%3D%22My%5C+Shop%22%2C%5C+b",
        ),
        (
            "jdbc:postgresql://one:1,two:2/shop?targetServerType=primary",
            "postgresql+psycopg:///shop?host=one%3A1&host=two%3A2&target_session_attrs=read-write",
        ),
        ("jdbc:mysql://db/shop", "mysql+pymysql://db:3306/shop"),
        ("jdbc:mariadb://db:3307/shop?user=me", "mariadb+pymysql://me@db:3307/shop"),
        ("jdbc:mysql://db/shop?sslMode=DISABLED", "mysql+pymysql://db:3306/shop?ssl_disabled=true"),
        ("jdbc:sqlite:/tmp/a.db", "sqlite:////tmp/a.db"),
        ("jdbc:sqlite:a.db?cache=shared", "sqlite:///a.db"),
        ("jdbc:sqlite::memory:", "sqlite://"),
        ("postgresql://db/shop", "postgresql+psycopg://db/shop"),
        ("postgres://db/shop", "postgresql+psycopg://db/shop"),
        ("mysql://me@db/shop", "mysql+pymysql://me@db/shop"),
        ("sqlite:///a.db", "sqlite:///a.db"),
        (
            "jdbc:sqlserver://db;databaseName=shop;user=me;password=x",
            "mssql+pymssql://me:x@db:1433/shop",
        ),
        ("jdbc:sqlserver://db\\instance:1444;database=shop", "mssql+pymssql://db:1444/shop"),
        ("jdbc:oracle:thin:@//db:1522/service", "oracle+oracledb://db:1522?service_name=service"),
        ("jdbc:oracle:thin:@db:1521:sid", "oracle+oracledb://db:1521/sid"),
        ("jdbc:oracle:thin:me/secret@db/service", "oracle+oracledb://me:secret@db:1521?service_name=service"),
    ],
)
def test_a_url_is_translated(written: str, meant: str) -> None:
    assert translate(written).render_as_string(hide_password=False).replace("/?", "?") == meant.replace("/?", "?")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an authority that no machine trusts."""
    folder = tmp_path_factory.mktemp("authority")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-subj", "/CN=ours", "-days", "2", "-keyout", folder / "key.pem", "-out", folder / "ca.pem"),
        ],
        check=True,
        capture_output=True,
    )
    return folder / "ca.pem"


def ssl_of(properties: str, kind: str = "mysql") -> tuple[bool, Any]:
    """Whether PyMySQL insists on TLS, and its context."""
    url = translate(f"jdbc:{kind}://db/shop?{properties}")
    _, told = url.get_dialect()().create_connect_args(url)
    made: Any = pymysql.Connection(**told, defer_connect=True)
    return made._ssl_required, made.ctx


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    ("properties", "required", "verified", "named"),
    [
        ("sslMode=PREFERRED", False, False, False),
        ("sslMode=REQUIRED", True, False, False),
        ("sslMode=trust", True, False, False),
        ("requireSSL=true", True, False, False),
        ("requireSSL=true&verifyServerCertificate=true", True, True, False),
        ("sslMode=VERIFY_CA", True, True, False),
        ("sslMode=verify-ca", True, True, False),
        ("sslMode=VERIFY_IDENTITY", True, True, True),
        ("sslMode=verify-full", True, True, True),
    ],
)
def test_mysql_is_reached_with_the_tls_that_its_url_asks_for(
    properties: str,
    required: bool,
    verified: bool,
    named: bool,
    own: bool,
    kind: str,
    authority: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if own and (verified or required):
        properties += f"&sslCa={authority}"
    else:
        known = ssl.get_default_verify_paths()._replace(cafile=str(authority))
        monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: known)
    insists, context = ssl_of(properties, kind)
    assert (insists, context.verify_mode == ssl.CERT_REQUIRED, context.check_hostname) == (required, verified, named)
    if verified:
        assert [dict(part for (part,) in each["subject"]) for each in context.get_ca_certs()] == [
            {"commonName": "ours"}
        ]


def test_mysql_s_certificate_is_not_verified_without_an_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    none = ssl.get_default_verify_paths()._replace(cafile=None, capath=None)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: none)
    with pytest.raises(ConfigError, match="sslCa=/path/ca.pem"):
        translate("jdbc:mysql://db/shop?sslMode=VERIFY_IDENTITY")


@pytest.mark.parametrize(
    "written",
    [
        "",
        "jdbc:",
        "jdbc:db2://db/shop",
        "jdbc:postgresql://user:hush@db:port/shop",
        "postgresql://user:hush@db:port/shop",
        "jdbc:sqlserver://db;portNumber=hush",
        "jdbc:oracle:thin:hush",
        "jdbc:mysql://one,two/hush",
        "hush",
        "nosuch+driver://user:hush@db/shop",
    ],
)
def test_what_cannot_be_read_is_said_without_what_it_holds(written: str) -> None:
    with pytest.raises(ConfigError) as caught:
        translate(written)
    assert caught.value.key == "connection.url"
    assert "hush" not in str(caught.value)
