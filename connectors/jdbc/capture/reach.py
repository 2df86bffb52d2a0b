"""Where the database is and who we are there: what libpq is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect import ConfigError
from connectors.jdbc.database.connection import POSTGRESQL
from connectors.jdbc.database.url import translate

#: How a session gives values in the text form that `connectors.jdbc.capture.text` reads.
_SESSION: Final = (
    "-c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC -c extra_float_digits=3 -c bytea_output=hex "
    "-c lc_monetary=C -c xmlbinary=base64 -c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
)


def parameters(config: Mapping[str, str], timeout: int = 10) -> dict[str, str]:
    """What libpq is told, credentials too.

    Raises:
        ConfigError: it does not say where the database is.
    """
    found = {name: str(value) for name, value in POSTGRESQL.items()}
    found |= {"connect_timeout": str(timeout), "client_encoding": "UTF8"}
    if config.get("connection.url"):
        url = translate(config["connection.url"])
        if url.get_backend_name() != "postgresql":
            raise ConfigError("connection.url", "is no URL of PostgreSQL.")
        found |= {name: value for name, value in url.query.items() if isinstance(value, str)}
        told = {"host": url.host, "port": url.port, "dbname": url.database, "user": url.username}
        found |= {name: str(value) for name, value in told.items() if value is not None}
        if url.password is not None:
            found["password"] = str(url.password)
    elif not config.get("database.hostname"):
        raise ConfigError("database.hostname", "is required, unless there is a connection.url.")
    for name, key in _PARAMETERS.items():
        if config.get(key):
            found[name] = str(config[key])
    if "dbname" not in found:
        raise ConfigError("database.dbname", "is required: changes are captured from one database.")
    found.setdefault("port", "5432")
    found["options"] = f"{found.get('options', '')} {_SESSION}".strip()
    return found


_PARAMETERS: Final = {
    "host": "database.hostname",
    "port": "database.port",
    "dbname": "database.dbname",
    "user": "database.user",
    "password": "database.password",
    "sslmode": "database.sslmode",
    "sslrootcert": "database.sslrootcert",
    "sslcert": "database.sslcert",
    "sslkey": "database.sslkey",
    "sslpassword": "database.sslpassword",
}
