"""Opens the catalog that a configuration names: keys of Iceberg's Java classes become those of pyiceberg."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from connect.errors import ConfigError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 60.0
_TRIES: Final = 5
_MADE_MEANWHILE: Final = re.compile("already exists|pg_type_typname_nsp_index")
TYPES: Final = ("rest", "sql", "glue", "hive", "dynamodb", "bigquery")

#: Iceberg's classes, by the last part of their names.
_CLASSES: Final = {
    "RESTCatalog": "rest",
    "JdbcCatalog": "sql",
    "GlueCatalog": "glue",
    "HiveCatalog": "hive",
    "DynamoDbCatalog": "dynamodb",
    "BigQueryMetastoreCatalog": "bigquery",
}
_OTHER_WAYS: Final = {
    "hadoop": "Two writers can overwrite each other's commits there. Use a catalog of type rest or sql.",
    "nessie": "Nessie speaks REST as well: write iceberg.catalog.type=rest, and /iceberg behind its address.",
}
_DRIVERS: Final = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
#: Keys of Iceberg's Java libraries that mean nothing to pyiceberg, or begin so.
_JAVA_ONLY: Final = (
    "io-impl",
    "catalog-impl",
    "cache-enabled",
    "cache.",
    "clients",
    "client.factory",
    "http-client.",
    "include-credentials",
    "lock-impl",
    "lock.",
    "metrics-reporter-impl",
    "s3.delete-enabled",
    "s3.staging-dir",
    "s3.client-factory-impl",
    "jdbc.",
)


def catalog_type(properties: Mapping[str, str]) -> str | None:
    """The kind of a catalog, one of `TYPES`; None if it is left to the address.

    Args:
        properties: of the catalog, by Iceberg's keys.

    Raises:
        ConfigError: there is no such kind here.
    """
    written = (properties.get("type") or "").strip().lower()
    key = "iceberg.catalog.type"
    if not written and (java := (properties.get("catalog-impl") or "").strip()):
        key, short = "iceberg.catalog.catalog-impl", java.rpartition(".")[2]
        written = _CLASSES.get(short) or short.removesuffix("Catalog").lower()
    written = {"jdbc": "sql"}.get(written, written)
    if not written or written in TYPES:
        return written or None
    instead = _OTHER_WAYS.get(written) or f"Write {', '.join(TYPES)}."
    raise ConfigError(key, f"{written} is not possible here. {instead}")


def properties_for_pyiceberg(properties: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The same properties as pyiceberg calls them, and the keys that mean nothing to it.

    Raises:
        ConfigError: see `catalog_type`.
    """
    kind = catalog_type(properties)
    ignored = [key for key in properties if key.startswith(_JAVA_ONLY) and not _is_login(key)]
    made = {key: value for key, value in properties.items() if not key.startswith(_JAVA_ONLY) and key != "type"}
    if kind is not None:
        made["type"] = kind
    if "uri" in made:
        made["uri"] = _address(made["uri"], properties.get("jdbc.user"), properties.get("jdbc.password"))
    if "credential" in made and made.get("uri", "").startswith("http"):  # as in Java: the catalog's own endpoint
        made.setdefault("oauth2-server-uri", made["uri"].rstrip("/") + "/v1/oauth/tokens")
    if (path_style := made.pop("s3.path-style-access", None)) is not None:
        made["s3.force-virtual-addressing"] = "false" if path_style.strip().lower() == "true" else "true"
    if "client.region" in made:
        made.setdefault("s3.region", made["client.region"])
    return made, [key for key in ignored if key != "catalog-impl"]


def _is_login(key: str) -> bool:
    return key in ("jdbc.user", "jdbc.password")


def _address(uri: str, user: str | None, password: str | None) -> str:
    """An address for SQLAlchemy where it is one of a database; else as it is."""
    uri = uri.strip()
    if uri.startswith("jdbc:sqlite:"):
        path = uri.removeprefix("jdbc:sqlite:").removeprefix("file:")
        return f"sqlite:///{path}"
    uri = uri.removeprefix("jdbc:")
    scheme, double_slash, rest = uri.partition("://")
    if not double_slash or scheme not in _DRIVERS:
        return uri
    if user and "@" not in rest.partition("/")[0]:
        login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
        rest = f"{login}@{rest}"
    return f"{_DRIVERS[scheme]}://{rest}"


def shown_address(properties: Mapping[str, str]) -> str:
    """The address of a catalog for messages: without a login, and without what stands behind a question mark."""
    uri = (properties.get("uri") or "").strip()
    if not uri:
        return f"the {catalog_type(properties) or 'default'} catalog"
    parts = urlsplit(uri.removeprefix("jdbc:"))
    host = re.sub(r"^[^@]*@", "", parts.netloc)
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme else "the catalog"


def open_catalog(name: str, properties: Mapping[str, str]) -> Catalog:
    """Connect to a catalog.

    Args:
        name: of the catalog.
        properties: by Iceberg's keys.

    Raises:
        ConfigError: there is no such kind of catalog here.
        RetriableError: it does not answer.
        ConnectError: it refuses us, or needs a package.
    """
    from pyiceberg.catalog import load_catalog

    from spark_sink.iceberg.problems import catalog_error

    made, ignored = properties_for_pyiceberg(properties)
    if ignored:
        log.info(
            "Of the catalog's keys these are for Iceberg's Java libraries, and have no effect: %s.",
            ", ".join(f"iceberg.catalog.{key}" for key in sorted(ignored)),
        )
    for tries_left in reversed(range(_TRIES)):
        try:
            return _patient(load_catalog(name, **made))
        except Exception as error:  # clients of five kinds of catalogs raise what they want
            # Who opens a new database makes the catalog's tables in it, and two tasks may do so at the same time.
            if tries_left and _MADE_MEANWHILE.search(str(error)):
                continue
            raise catalog_error(error, shown_address(properties), "could not be opened") from error
    raise AssertionError("the last try returns or raises")


def _patient(catalog: Catalog) -> Catalog:
    """Let no request to a REST catalog wait forever: pyiceberg sets no timeout."""
    session = getattr(catalog, "_session", None)
    if session is not None:
        from requests.adapters import HTTPAdapter

        class Timed(HTTPAdapter):
            def send(self, *what: Any, **how: Any) -> Any:
                how["timeout"] = how.get("timeout") or _TIMEOUT_S
                return super().send(*what, **how)

        for prefix, adapter in list(session.adapters.items()):
            if type(adapter) is HTTPAdapter:  # another one signs requests
                session.mount(prefix, Timed())
    return catalog
