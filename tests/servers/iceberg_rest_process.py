"""The process of `tests.servers.iceberg_rest`: HTTP in Python, everything behind it in Java.

https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml
"""

import json
import os
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import jpype

PACKAGE = "org.apache.iceberg"
TOKEN = "token-of-tester"

#: Java's exceptions and the status that the specification has for them.
STATUS = {
    "NoSuchTableException": 404,
    "NoSuchNamespaceException": 404,
    "AlreadyExistsException": 409,
    "CommitFailedException": 409,
    "NamespaceNotEmptyException": 409,
    "ValidationException": 400,
    "BadRequestException": 400,
    "IllegalArgumentException": 400,
}


class Catalog:
    """Iceberg's handlers over its catalog in memory."""

    def __init__(self, jars: str, home: str, warehouse: str) -> None:
        os.environ["JAVA_HOME"] = home
        jpype.startJVM(classpath=jars.split(":"), convertStrings=True)
        load = jpype.JClass
        self._catalog = load(f"{PACKAGE}.inmemory.InMemoryCatalog")()
        self._catalog.initialize("rest", load("java.util.HashMap")({"warehouse": warehouse}))
        self._handlers = load(f"{PACKAGE}.rest.CatalogHandlers")
        self._namespace = load(f"{PACKAGE}.catalog.Namespace")
        self._identifier = load(f"{PACKAGE}.catalog.TableIdentifier")
        mapper = load("com.fasterxml.jackson.databind.ObjectMapper")()
        mapper.setVisibility(
            load("com.fasterxml.jackson.annotation.PropertyAccessor").FIELD,
            load("com.fasterxml.jackson.annotation.JsonAutoDetect$Visibility").ANY,
        )
        unknown = load("com.fasterxml.jackson.databind.DeserializationFeature").FAIL_ON_UNKNOWN_PROPERTIES
        mapper.configure(unknown, False)
        naming = load("com.fasterxml.jackson.databind.PropertyNamingStrategies$KebabCaseStrategy")()
        mapper.setPropertyNamingStrategy(naming)
        load(f"{PACKAGE}.rest.RESTSerializers").registerAll(mapper)
        self._mapper = mapper
        self._lock = threading.Lock()  # its commits compare and set, but not at the same time

    def answer(self, method: str, parts: list[str], body: str) -> str | None:
        """The response to a request, as JSON. Raises what Java raises; LookupError for no such path."""
        load, handlers, catalog = jpype.JClass, self._handlers, self._catalog
        requests = f"{PACKAGE}.rest.requests"
        namespace = self._namespace.of(parts[1].split("\x1f")) if len(parts) > 1 else None
        table = self._identifier.of(namespace, parts[3]) if len(parts) > 3 else None
        match [method, *parts[::2]], len(parts):
            case ["GET", "namespaces"], 1:
                made = handlers.listNamespaces(catalog, self._namespace.empty())
            case ["POST", "namespaces"], 1:
                made = handlers.createNamespace(catalog, self._read(body, f"{requests}.CreateNamespaceRequest"))
            case ["GET" | "HEAD", "namespaces"], 2:
                made = handlers.loadNamespace(catalog, namespace)
            case ["GET", "namespaces", "tables"], 3:
                made = handlers.listTables(catalog, namespace)
            case ["POST", "namespaces", "tables"], 3:
                made = handlers.createTable(catalog, namespace, self._read(body, f"{requests}.CreateTableRequest"))
            case ["GET" | "HEAD", "namespaces", "tables"], 4:
                mode = load(f"{PACKAGE}.rest.RESTCatalogProperties$SnapshotMode").ALL
                made = handlers.loadTable(catalog, table, mode)
            case ["POST", "namespaces", "tables"], 4:
                with self._lock:
                    made = handlers.updateTable(catalog, table, self._read(body, f"{requests}.UpdateTableRequest"))
            case ["DELETE", "namespaces", "tables"], 4:
                handlers.dropTable(catalog, table)
                return None
            case _:
                raise LookupError(f"{method} {'/'.join(parts)}")
        return str(self._mapper.writeValueAsString(made))

    def _read(self, body: str, kind: str) -> Any:
        return self._mapper.readValue(jpype.JString(body), jpype.JClass(kind).class_)


class Handler(BaseHTTPRequestHandler):
    """Logins, and the tests' own wishes; the rest is the catalog's."""

    protocol_version = "HTTP/1.1"
    catalog: Catalog
    credential: str
    counts: ClassVar[Counter[str]] = Counter()
    lose: int | None = None

    def do_any(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path = urlsplit(self.path).path.strip("/").split("/")
        match path:
            case ["test", "lose"]:
                Handler.lose = json.loads(body)["status"]
                self._send(200, "{}")
            case ["test", "answers"]:
                self._send(200, json.dumps(Handler.counts))
            case ["v1", "oauth", "tokens"]:
                self._login(parse_qs(body))
            case ["v1", *_] if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self._error(401, "NotAuthorizedException", "No token, or another one.")
            case ["v1", "config"]:
                self._send(200, json.dumps({"defaults": {}, "overrides": {}}))
            case ["v1", *parts]:
                self._ask([unquote(each) for each in parts], body)
            case _:
                self._error(404, "NotFoundException", self.path)

    do_GET = do_POST = do_HEAD = do_DELETE = do_any  # noqa: N815 - the names of http.server

    def _login(self, form: dict[str, list[str]]) -> None:
        given = ":".join(form.get(name, [""])[0] for name in ("client_id", "client_secret"))
        if given != self.credential:
            answer = {"error": "invalid_client", "error_description": "Unknown client."}
            self._send(401, json.dumps(answer))
            return
        self._send(200, json.dumps({"access_token": TOKEN, "token_type": "bearer", "expires_in": 3600}))

    def _ask(self, parts: list[str], body: str) -> None:
        commits = self.command == "POST" and len(parts) == 4
        try:
            answer = self.catalog.answer(self.command, parts, body)
        except LookupError as error:
            self._error(404, "NotFoundException", str(error))
            return
        except jpype.JException as error:
            name = error.getClass().getSimpleName()
            self._error(STATUS.get(name, 500), name, str(error.getMessage()))
            return
        if commits and Handler.lose is not None:
            status, Handler.lose = Handler.lose, None
            self._error(status, "LostException", "This commit was made.")
            return
        self._send(200 if answer is not None else 204, answer or "")

    def _error(self, status: int, kind: str, message: str) -> None:
        self._send(status, json.dumps({"error": {"message": message, "type": kind, "code": status}}))

    def _send(self, status: int, text: str) -> None:
        Handler.counts[str(status)] += 1
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Into the server's log."""
        sys.stderr.write(f"{format % args}\n")


def main(port: str, jars: str, home: str, credential: str, warehouse: str) -> None:
    """Serve until the process ends."""
    Handler.catalog, Handler.credential = Catalog(jars, home, warehouse), credential
    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
