"""A cluster: requests to it through the official client of its product, thread-safe."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode

import orjson

from connect import ConnectError
from connect.kit import RetryBudget
from connectors.elasticsearch.cluster.failures import missing_package
from connectors.elasticsearch.cluster.keys import OpenSearchOptions, ProductOptions

_JSON: Final = "application/json"
_LINES: Final = "application/x-ndjson"
#: What of an answer to a bulk request is looked at. One entry for each document, in order, whatever became of it.
_FILTER: Final = "errors,items.*.status,items.*.error"
#: Seconds between tries, at most.
LONGEST_PAUSE: Final = 10.0
_NO_ERRORS: Final = b'{"errors":false'


class Link(Protocol):
    """One of the two clients."""

    def send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> bytes | str:
        """One request to one node, without retries. Raises what the client raises; see `failures.failure`."""

    def close(self) -> None:
        """Close its connections."""


class Cluster:
    """Elasticsearch or OpenSearch. Connects at the first request; does not retry (see `retries`).

    Every method is thread-safe, and raises what its client raises: `failure(error)` explains it.

    Raises:
        ConnectError: the client's package is missing.
        ConfigError: keys contradict each other, or a store of certificates cannot be read.
    """

    def __init__(self, settings: ProductOptions) -> None:
        settings.check_cluster()
        self.settings = settings
        self.where = settings.where
        self.open_search = isinstance(settings, OpenSearchOptions)
        self._link = _link(settings)

    def retries(self, timeout: Callable[[int], None] | None = None) -> RetryBudget:
        """How often a request with a transient failure is retried; see `RetryBudget`."""
        settings = self.settings
        return RetryBudget(
            settings.retries, settings.backoff, longest=LONGEST_PAUSE, waits_for=self.where, timeout=timeout
        )

    def close(self) -> None:
        """Close all connections."""
        self._link.close()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """A request with a JSON body, or none.

        Args:
            method, path: such as "GET", "/index/_search". Names in a path: see `quoted`.
            body: bytes as they are; anything else is written as JSON.
            params: the query parameters.
            timeout: seconds to wait for a response; `read_timeout` by default.

        Returns:
            the response, parsed where it is JSON.
        """
        answer = self.answer(method, path, body, params=params, timeout=timeout)
        try:
            return orjson.loads(answer) if answer else None
        except orjson.JSONDecodeError:
            return answer.decode(errors="replace")

    def answer(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """The same as `request`, with the response unparsed."""
        data = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        answer = self._send(method, path, data, _JSON, params, timeout)
        return answer if isinstance(answer, bytes) else answer.encode()

    def bulk(
        self, body: bytes, *, params: Mapping[str, Any] | None = None, timeout: float | None = None
    ) -> list[dict[str, dict[str, Any]]]:
        r"""A bulk request.

        Args:
            body: actions and documents, a line each, all ended by ``\n``.

        Returns:
            an entry for each action, in order, with `status` and maybe `error` under the action's name. Empty when all
            succeeded.

        Raises:
            ConnectError: the answer is not a cluster's.
        """
        answer = self._send("POST", "/_bulk", body, _LINES, {"filter_path": _FILTER, **(params or {})}, timeout)
        whole = answer if isinstance(answer, bytes) else answer.encode()
        if whole.startswith(_NO_ERRORS):
            return []
        try:
            parsed = orjson.loads(whole)
        except orjson.JSONDecodeError:
            parsed = None
        told = parsed if isinstance(parsed, dict) else {}
        items: list[dict[str, dict[str, Any]]] = told.get("items") or []
        if "errors" not in told or (told["errors"] and not items):  # something in between may answer 200 to anything
            said = whole[:200].decode(errors="replace") or "it is empty."
            raise ConnectError(
                f"An answer to a bulk request does not say whether it succeeded: {said} Look whether connection.url is "
                "that of a cluster."
            )
        return items if told["errors"] else []

    def exists(self, path: str) -> bool:
        """Whether a path exists, by its status."""
        from connectors.elasticsearch.cluster.failures import failure

        try:
            self.request("GET", path)
        except Exception as error:
            if failure(error).kind == "missing":
                return False
            raise
        return True

    def search(
        self, body: Mapping[str, Any], *, index: str | None = None, timeout: float | None = None, **params: Any
    ) -> dict[str, Any]:
        """A search, in an index (a pattern, a data stream, an alias) or, with a point in time in the body, without."""
        path = f"/{quoted(index)}/_search" if index else "/_search"
        found: dict[str, Any] = self.request("POST", path, body, params=params, timeout=timeout)
        return found

    def open_point_in_time(self, index: str, keep_alive: str = "1m", **params: Any) -> str:
        """A stable view of an index. Its id goes into the body of searches: {"pit": {"id": .., ..}}."""
        path, key = ("_search/point_in_time", "pit_id") if self.open_search else ("_pit", "id")
        opened = self.request("POST", f"/{quoted(index)}/{path}", params={"keep_alive": keep_alive, **params})
        return str(opened[key])

    def close_point_in_time(self, point: str) -> None:
        """Close that view."""
        if self.open_search:
            self.request("DELETE", "/_search/point_in_time", {"pit_id": [point]})
        else:
            self.request("DELETE", "/_pit", {"id": point})

    def version(self) -> str:
        """The version of the node that responds, such as 8.19.21."""
        # `GET /` is not everywhere allowed, and not in every build.
        nodes = self.request("GET", "/_nodes/_local", params={"filter_path": "nodes.*.version"})
        return next((str(each["version"]) for each in nodes.get("nodes", {}).values()), "")

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        kind: str,
        params: Mapping[str, Any] | None,
        timeout: float | None,
    ) -> bytes | str:
        headers = {"accept": _JSON}
        if body is not None:
            headers["content-type"] = kind
        if self.settings.compression:
            headers["accept-encoding"] = "gzip"
            if body is not None:
                body = gzip.compress(body, compresslevel=1)  # on a network that matters, more is rarely worth its time
                headers["content-encoding"] = "gzip"
        target = f"{path}?{urlencode(params, quote_via=quote)}" if params else path
        return self._link.send(method, target, body, headers, timeout or self.settings.read_timeout)


def quoted(name: str) -> str:
    """A name, or several with commas, as a part of a path."""
    return quote(name, safe=",*-_.")


def _link(settings: ProductOptions) -> Link:
    for name in ("elastic_transport", "opensearch"):
        # Each request is a line at INFO there.
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        if isinstance(settings, OpenSearchOptions):
            from connectors.elasticsearch.cluster.opensearch_link import OpenSearchLink

            return OpenSearchLink(settings)
        from connectors.elasticsearch.cluster.elasticsearch_link import ElasticsearchLink

        return ElasticsearchLink(settings)
    except ImportError as error:
        raise ConnectError(missing_package(error.name or str(error), settings.product.lower())) from error
