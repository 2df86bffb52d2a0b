"""What `connection.url` says: JDBC URLs of Java's connectors and SQLAlchemy's own, as SQLAlchemy's.

| written | becomes |
|---|---|
| `jdbc:postgresql://host:5432/db?sslmode=require` | `postgresql+psycopg://host:5432/db?sslmode=require` |
| `jdbc:postgresql:db` | the same on localhost |
| `jdbc:mysql://host/db`, `jdbc:mariadb://host/db` | `mysql+pymysql://host/db`, `mariadb+pymysql://host/db` |
| `jdbc:sqlite:/path/file.db`, `jdbc:sqlite::memory:` | `sqlite:////path/file.db`, `sqlite://` |
| `jdbc:sqlserver://host:1433;databaseName=db;user=u` | `mssql+pymssql://u@host:1433/db` |
| `jdbc:oracle:thin:@//host:1521/service`, `...:@host:1521:sid` | `oracle+oracledb://host:1521/?service_name=service` |
| `postgresql://`, `mysql://`, `mariadb://`, ... | the same, with the driver that is installed with this connector |

Properties of the JDBC drivers that name what Python's drivers have too are translated; those that only tune the Java
driver are left out. Imported with SQLAlchemy.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from connect import ConfigError

KEY: Final = "connection.url"

#: The drivers that a URL without one means.
DRIVERS: Final = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
    "mssql": "mssql+pymssql",
    "oracle": "oracle+oracledb",
}
_POSTGRESQL: Final = {
    "user": "user",
    "password": "password",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslpassword": "sslpassword",
    "applicationname": "application_name",
    "connecttimeout": "connect_timeout",
    "logintimeout": "connect_timeout",
    "options": "options",
    "targetservertype": "target_session_attrs",
    "channelbinding": "channel_binding",
}
_TARGETS: Final = {
    **dict.fromkeys(("primary", "master"), "read-write"),
    **dict.fromkeys(("secondary", "slave"), "standby"),
    **dict.fromkeys(("prefersecondary", "preferslave"), "prefer-standby"),
    "preferprimary": "any",
}
_MYSQL: Final = {"user": "user", "password": "password", "sslca": "ssl_ca", "servertimezone": None}


def translate(written: str) -> URL:
    """The URL of a database, with a Python driver.

    Raises:
        ConfigError: the URL cannot be read, or names a database that only Java can reach. Never shows a password.
    """
    written = written.strip()
    if not written:
        raise ConfigError(KEY, "says where the database is. Write jdbc:postgresql://host:5432/database, for example.")
    try:
        if written.lower().startswith("jdbc:"):
            return _of_jdbc(written[len("jdbc:") :])
        url = make_url(written)
    except (ArgumentError, ValueError):  # the latter for ports that are not numbers
        raise _unreadable() from None
    url = url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
    try:
        url.get_dialect()
    except NoSuchModuleError:
        raise ConfigError(
            KEY, f'no package is installed that knows "{url.drivername}". Install the SQLAlchemy dialect of that name.'
        ) from None
    return url


def _of_jdbc(rest: str) -> URL:
    kind, colon, where = rest.partition(":")
    read = _JDBC.get(kind.lower())
    if read is None or not colon:
        known = ", ".join(sorted(_JDBC))
        raise ConfigError(
            KEY,
            f'there is no translation for JDBC URLs of "{kind[:40]}" (there is for {known}). Write the URL that the '
            "SQLAlchemy dialect of that database takes.",
        )
    return read(where)


def _postgresql(where: str) -> URL:
    hosts, database, properties = _authority(where)
    query, user, password = _properties(properties, _POSTGRESQL)
    if properties.get("ssl", "").lower() in ("true", "1") or ("ssl" in properties and not properties["ssl"]):
        unverified = properties.get("sslfactory", "").endswith(".NonValidatingFactory")
        query.setdefault("sslmode", "require" if unverified else "verify-full")
    if target := query.get("target_session_attrs"):
        query["target_session_attrs"] = _TARGETS.get(target.lower(), target)
    schema = properties.get("currentschema")
    if schema:
        options = "-csearch_path=" + re.sub(r"[\\\s]", r"\\\g<0>", schema)
        query["options"] = f"{query['options']} {options}" if "options" in query else options
    url = _with_hosts("postgresql+psycopg", hosts, 5432, query)
    return url.set(database=database or user or None, username=user, password=password)


def _mysql(driver: str) -> Callable[[str], URL]:
    def read(where: str) -> URL:
        hosts, database, properties = _authority(where)
        query, user, password = _properties(properties, _MYSQL)
        if len(hosts) > 1:
            raise ConfigError(KEY, "names several hosts, which this driver cannot try in turn. Name one.")
        query |= _tls(properties, query.pop("ssl_ca", None))
        url = _with_hosts(driver, hosts, 3306, query)
        return url.set(database=database or None, username=user, password=password)

    return read


def _tls(properties: Mapping[str, str], ca: str | None) -> dict[str, str]:
    """PyMySQL's arguments for a mode of TLS; without any it uses TLS where the server has it, and verifies nothing."""
    mode = properties.get("sslmode", "").upper().replace("-", "_")
    if not mode and properties.get("requiressl", "").lower() == "true":
        mode = "VERIFY_CA" if properties.get("verifyservercertificate", "").lower() == "true" else "REQUIRED"
    if mode in ("DISABLED", "DISABLE"):
        return {"ssl_disabled": "true"}
    if mode in ("REQUIRED", "TRUST"):
        return {"ssl_verify_cert": "none"}
    if mode not in ("VERIFY_CA", "VERIFY_IDENTITY", "VERIFY_FULL"):
        return {"ssl_ca": ca} if ca else {}
    # Beside the arguments ssl_verify_* authorities are not heard, and without authorities no name is compared.
    known = ssl.get_default_verify_paths()
    authorities = {"ssl_ca": ca or known.cafile} if ca or known.cafile else {"ssl_capath": known.capath}
    if None in authorities.values():
        raise ConfigError(KEY, f"says sslMode={mode}. Name the file of the authority to trust: sslCa=/path/ca.pem.")
    return {**authorities, "ssl_check_hostname": str(mode != "VERIFY_CA").lower()}


def _sqlite(where: str) -> URL:
    path, _, _ = where.partition("?")
    path = unquote(path.removeprefix("file:"))
    return URL.create("sqlite", database=None if path in ("", ":memory:") else path)


def _sqlserver(where: str) -> URL:
    if not where.startswith("//"):
        raise _unreadable()
    first, *others = where[2:].split(";")
    properties = {key.lower(): value for key, _, value in (each.partition("=") for each in others if each)}
    host, port = _host_and_port(re.sub(r"\\[^:]*", "", first), 1433)
    return URL.create(
        "mssql+pymssql",
        username=properties.get("user") or properties.get("username"),
        password=properties.get("password"),
        host=properties.get("servername") or host,
        port=int(properties.get("portnumber") or properties.get("port") or port),
        database=properties.get("databasename") or properties.get("database"),
    )


def _oracle(where: str) -> URL:
    found = re.fullmatch(r"(?:thin|oci):(?:(?P<user>[^/@]+)/(?P<password>[^@]+))?@(?P<at>.+)", where)
    if found is None:
        raise _unreadable()
    at = found["at"]
    if at.startswith("("):
        return URL.create("oracle+oracledb", found["user"], found["password"], query={"dsn": at})
    parts = re.fullmatch(r"(?://)?([^:/]+)(?::(\d+))?(?:([:/])(.+))?", at)
    if parts is None:
        raise _unreadable()
    host, port, mark, name = parts.groups()
    url = URL.create("oracle+oracledb", found["user"], found["password"], host, int(port or 1521))
    if not name:
        return url
    return url.set(database=name) if mark == ":" else url.update_query_dict({"service_name": name})


_JDBC: Final[Mapping[str, Callable[[str], URL]]] = {
    "postgresql": _postgresql,
    "mysql": _mysql("mysql+pymysql"),
    "mariadb": _mysql("mariadb+pymysql"),
    "sqlite": _sqlite,
    "sqlserver": _sqlserver,
    "oracle": _oracle,
}


def _authority(where: str) -> tuple[list[str], str, dict[str, str]]:
    """Hosts, database and properties (names in lower case) of `//host:port,host/database?properties`, or `database`."""
    place, _, query = where.partition("?")
    properties = {key.lower(): value for key, value in parse_qsl(query, keep_blank_values=True)}
    if not place.startswith("//"):
        return [""], unquote(place), properties
    authority, _, database = place[2:].partition("/")
    return authority.split(","), unquote(database), properties


def _properties(
    properties: Mapping[str, str], names: Mapping[str, str | None]
) -> tuple[dict[str, str], str | None, str | None]:
    """The driver's arguments, the user and the password."""
    told = {name: properties[key] for key, name in names.items() if name is not None and properties.get(key)}
    return told, told.pop("user", None), told.pop("password", None)


def _with_hosts(driver: str, hosts: list[str], port: int, query: dict[str, str]) -> URL:
    pairs = [_host_and_port(each, port) for each in hosts]
    if len(pairs) == 1:
        return URL.create(driver, host=pairs[0][0], port=pairs[0][1], query=query)
    # libpq tries several in turn; SQLAlchemy hands them on from the query.
    several = tuple(f"{host}:{number}" for host, number in pairs)
    return URL.create(driver, query={**query, "host": several})


def _host_and_port(written: str, port: int) -> tuple[str, int]:
    found = re.fullmatch(r"(\[[0-9A-Fa-f:]+\]|[^:\[\]]*)(?::(\d{1,5}))?", written)
    if found is None:
        raise _unreadable()
    return found[1].strip("[]") or "localhost", int(found[2] or port)


def _unreadable() -> ConfigError:
    return ConfigError(
        KEY,
        "cannot be read. Write jdbc:postgresql://host:5432/database or postgresql://host:5432/database, for example; "
        "a user and a password belong into connection.user and connection.password.",
    )
