"""The meaning of an error of either client, or of one document: its class, whether it is transient, and a message.

The classes are those of the metrics: credentials, missing, unreachable, throttled, timeout, conflict, malformed,
refused, other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from connect.kit.failures import phrase


class Failure(NamedTuple):
    """A failure.

    Attributes:
        kind: its class, for metrics.
        passing: whether the same request may succeed later.
        sentence: what happened and what to do, without where. No secret.
    """

    kind: str
    passing: bool
    sentence: str


_MALFORMED: Final = frozenset(
    {
        "mapper_parsing_exception",
        "document_parsing_exception",
        "strict_dynamic_mapping_exception",
        "illegal_argument_exception",
        "action_request_validation_exception",
        "invalid_index_name_exception",
        "json_parse_exception",
        "x_content_parse_exception",
        "parsing_exception",
        "script_exception",
        "fail_processor_exception",
        "ingest_processor_exception",
        "validation_exception",
    }
)
#: Said of single documents, and true of all: no record's fault.
_OF_ALL: Final = re.compile(
    r"pipeline with id \[|no write index is defined|only write ops with an op_type of create|script_lang not supported"
    r"|unable to find script|compile error|closed index|index_closed|this action would add \[\d+\] (total )?shards"
)
#: Where reasons quote documents, which may hold what no log should: to the end of a reason, or within it.
_QUOTED: Final = re.compile(
    r"\.? ?(Preview of field's value:|at \[Source:|The prefix of the first immense term is:).*"
    r'|(?<=For input string)s?: ".*"|(?<=do not match field value): .*',
    re.DOTALL,
)
#: The causes of these quote values between any of these marks.
_OF_VALUES: Final = frozenset({"document_parsing_exception", "mapper_parsing_exception"})
_MARKS: Final = ("[]", "()", "''", '""')
_ADVICE: Final = {
    401: ("credentials", "Check connection.username and connection.password, or connection.api.key"),
    403: ("credentials", "This user lacks a privilege: grant it"),
    404: ("missing", "Create it, or correct its name"),
    405: ("refused", "Look whether connection.url is that of a cluster"),
    409: ("conflict", "Something else wrote it meanwhile"),
    413: ("refused", "It is too large for the cluster (http.max_content_length): lower bulk.size.bytes or batch.size"),
}
_PASSING: Final = {
    408: "timeout",
    429: "throttled",
    500: "other",
    502: "unreachable",
    503: "unreachable",
    504: "timeout",
}

_INNER: Final = ("reason", "original_error")
_SYSTEM: Final = re.compile(r"\[Errno -?\d+\] [^)'>]+|certificate verify failed: [^()]+")
#: How a port for TLS, among others, ends a request without it.
_HANGS_UP: Final = re.compile(r"closed connection without response|Connection aborted|Connection reset|BadStatusLine")
_ANY: Final = re.compile(r".{0,300}")


def failure(error: BaseException) -> Failure:
    """The meaning of a request's error."""
    status, body = _status(error), _body(error)
    names = {each.__name__ for each in type(error).__mro__}
    if "UnsupportedProductError" in names:
        return Failure(
            "refused", False, "It answers, and is not Elasticsearch. For OpenSearch there is OpenSearchSinkConnector."
        )
    if status is not None:
        return _by_status(status, body)
    text = _plain(error)
    if names & {"TlsError", "SSLError"}:
        return Failure("unreachable", False, f"TLS failed: {text}. Check the ssl.* keys and whether the URL is https.")
    if names & {"ConnectionTimeout", "ReadTimeoutError", "ConnectTimeoutError", "TimeoutError"}:
        return Failure("timeout", True, "It did not answer in time (connection.timeout.ms, read.timeout.ms).")
    if "ConnectionError" in names or isinstance(error, OSError):
        advice = "Check connection.url and the network."
        if _HANGS_UP.search(text):
            advice = "Check connection.url, and whether it begins with https://."
        return Failure("unreachable", True, f"It cannot be reached: {text}. {advice}")
    return Failure("other", False, f"{type(error).__name__}: {text}")


def item_failure(status: int, error: Mapping[str, Any] | str | None) -> Failure:
    """The meaning of one document's result in a bulk request: its `status` and `error`."""
    return _by_status(status, {"error": error, "status": status})


def missing_package(name: str, extra: str = "elasticsearch") -> str:
    """The message for a library that is not installed."""
    return f"The package {name} is missing. Install connect-runtime[{extra}]."


def _by_status(status: int, body: Any) -> Failure:
    kind, reason = _reason(body)
    said = f"{status} {kind}: {reason}" if kind else f"{status} {reason}" if reason else phrase(status)
    if kind == "media_type_header_exception":
        return Failure("refused", False, f"{said}. Server and client are versions that do not understand each other.")
    if status == 503 and kind == "cluster_block_exception":
        return Failure("unreachable", True, f"{said}. It is starting, or has no master.")
    if kind == "cluster_block_exception":
        passing = "disk usage" in reason or "create-index" in reason or "TOO_MANY_REQUESTS" in reason
        return Failure(
            "refused", passing, f"{said}. It is blocked for writing: make room on its disks, or lift the block."
        )
    if kind in ("es_rejected_execution_exception", "rejected_execution_exception", "circuit_breaking_exception"):
        return Failure("throttled", True, f"{said}. It has too much to do.")
    if kind in ("no_shard_available_action_exception", "unavailable_shards_exception", "node_closed_exception"):
        return Failure("unreachable", True, f"{said}. A part of it is away.")
    if status == 404 and kind == "index_not_found_exception":
        return Failure("missing", False, f"{said}. Create it, or let auto creation make it.")
    if status == 400 and (_OF_ALL.search(reason) or _OF_ALL.search(kind)):
        return Failure("refused", False, f"{said}. It is so for every document: correct the configuration, or it.")
    if kind in _MALFORMED:
        return Failure("malformed", False, f"{said}.")  # a pipeline's have the status 500
    if status in _PASSING:
        return Failure(_PASSING[status], True, f"{said}.")
    if status in _ADVICE:
        named, advice = _ADVICE[status]
        return Failure(named, False, f"{said}. {advice}.")
    if status == 400:
        return Failure("malformed", False, f"{said}.")
    return Failure("other", status >= 500, f"{said}.")


def _status(error: BaseException) -> int | None:
    meta = getattr(error, "meta", None)
    status = getattr(meta, "status", None) or getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _body(error: BaseException) -> Any:
    body = getattr(error, "body", None)
    if body is None:
        body = getattr(error, "info", None)
    if isinstance(body, bytes | str):
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            return {"error": body.decode(errors="replace")[:300] if isinstance(body, bytes) else body[:300]}
    return body


def _reason(body: Any) -> tuple[str, str]:
    """The type of an error and its reason, with that of its cause where it adds something; no values of documents."""
    error = body.get("error") if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return "", " ".join(str(error or "").split())[:500]
    kind, told = str(error.get("type") or ""), str(error.get("reason") or "")
    reason = _QUOTED.sub("", told)
    cause = error.get("caused_by")
    while isinstance(cause, Mapping):
        if (more := str(cause.get("reason") or "")) and more not in told:
            told += more
            more = _QUOTED.sub("", more)
            reason += f": {_without_values(more) if kind in _OF_VALUES else more}"
        cause = cause.get("caused_by")
    return kind, " ".join(reason.split())[:1000]


def _without_values(reason: str) -> str:
    """A reason without what is between marks: from the first one of a kind to the last."""
    found, at = "", 0
    while True:
        spans = []
        for opening, closing in _MARKS:
            start = reason.find(opening, at)
            if 0 <= start < (end := reason.rfind(closing)):
                spans.append((start, end))
        if not spans:
            return found + reason[at:]
        start, end = min(spans)
        found += f"{reason[at:start]}[...]"
        at = end + 1


def _plain(error: BaseException) -> str:
    """The innermost reason of a library's error, which wraps others and names objects."""
    inner: BaseException | None = error
    while inner is not None:
        error = inner
        inner = next((each for each in (error.__cause__, *map(error.__dict__.get, _INNER)) if _is(each)), None)
        if inner is None and len(error.args) > 2 and _is(error.args[2]):
            inner = error.args[2]  # opensearch-py's
    text = " ".join(str(error).split())
    # urllib3 says "<HTTPConnection(host=..., port=...)>: Failed to establish a new connection: [Errno 111] ..."
    return (_SYSTEM.search(text) or _ANY.match(text))[0].rstrip(".") or type(error).__name__  # type: ignore[index]


def _is(error: object) -> bool:
    return isinstance(error, Exception)
