"""JDBC URLs and SQLAlchemy's, as the URLs of Python's drivers."""

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
        ("jdbc:postgresql://db/shop?reWriteBatchedInserts=true", "postgresql+psycopg://db:5432/shop"),
        (
            "jdbc:postgresql://db/shop?currentSchema=a,b&ApplicationName=x",
            "postgresql+psycopg://db:5432/shop?application_name=x&options=-csearch_path%3Da%2Cb",
        ),
        (
            "jdbc:postgresql://one:1,two:2/shop?targetServerType=primary",
            "postgresql+psycopg:///shop?host=one%3A1&host=two%3A2&target_session_attrs=read-write",
        ),
        ("jdbc:mysql://db/shop", "mysql+pymysql://db:3306/shop"),
        ("jdbc:mariadb://db:3307/shop?user=me", "mariadb+pymysql://me@db:3307/shop"),
        (
            "jdbc:mysql://db/shop?sslMode=VERIFY_CA",
            "mysql+pymysql://db:3306/shop?ssl_verify_cert=true&ssl_verify_identity=false",
        ),
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
