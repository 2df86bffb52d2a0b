"""What errors of clusters are said to mean."""

from typing import Any

import pytest

from connectors.elasticsearch.cluster import failure, item_failure


@pytest.mark.parametrize(
    ("status", "kind", "reason", "found"),
    [
        (400, "mapper_parsing_exception", "failed to parse field [n]", ("malformed", False)),
        (400, "document_parsing_exception", "failed to parse", ("malformed", False)),
        (400, "illegal_argument_exception", "Limit of total fields [1000] has been exceeded", ("malformed", False)),
        (400, "illegal_argument_exception", "pipeline with id [p] does not exist", ("refused", False)),
        (400, "illegal_argument_exception", "no write index is defined for alias [a].", ("refused", False)),
        (400, "index_closed_exception", "closed", ("refused", False)),
        (
            400,
            "validation_exception",
            "Validation Failed: 1: this action would add [2] shards, but this cluster currently has [4]/[3] maximum;",
            ("refused", False),
        ),
        (
            400,
            "validation_exception",
            "Validation Failed: 1: this action would add [2] total shards, but this cluster currently has [4]/[3];",
            ("refused", False),
        ),
        (400, "script_exception", "runtime error", ("malformed", False)),
        (400, "script_exception", "compile error", ("refused", False)),
        (500, "fail_processor_exception", "too many", ("malformed", False)),
        (401, "security_exception", "unable to authenticate user", ("credentials", False)),
        (403, "security_exception", "action is unauthorized", ("credentials", False)),
        (403, "cluster_block_exception", "index [a] blocked by: [FORBIDDEN/8/index write (api)];", ("refused", False)),
        (
            429,
            "cluster_block_exception",
            "index [a] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark];",
            ("refused", True),
        ),
        (404, "index_not_found_exception", "no such index [a]", ("missing", False)),
        (409, "version_conflict_engine_exception", "[1]: version conflict", ("conflict", False)),
        (429, "es_rejected_execution_exception", "rejected execution", ("throttled", True)),
        (429, "circuit_breaking_exception", "[parent] Data too large", ("throttled", True)),
        (503, "unavailable_shards_exception", "primary shard is not active", ("unreachable", True)),
        (503, "process_cluster_event_timeout_exception", "failed to process", ("unreachable", True)),
        (500, "null_pointer_exception", "null", ("other", True)),
        (
            503,
            "cluster_block_exception",
            "[SERVICE_UNAVAILABLE/1/state not recovered];",
            ("unreachable", True),
        ),
        (503, "cluster_block_exception", "[SERVICE_UNAVAILABLE/2/no master];", ("unreachable", True)),
    ],
)
def test_what_becomes_of_a_document(status: int, kind: str, reason: str, found: tuple[str, bool]) -> None:
    said = item_failure(status, {"type": kind, "reason": reason})
    assert said[:2] == found
    assert said.sentence.startswith(f"{status} {kind}: {reason}")


def test_the_cause_is_told_with_what_it_caused() -> None:
    error = {
        "type": "mapper_parsing_exception",
        "reason": "failed to parse field [n]",
        "caused_by": {"type": "x_content_parse_exception", "reason": "Expected text at 1:7 but found START_OBJECT"},
    }
    assert item_failure(400, error).sentence == (
        "400 mapper_parsing_exception: failed to parse field [n]: Expected text at 1:7 but found START_OBJECT."
    )


FIELD = "failed to parse field [n] of type [date] in document with id '7'"


@pytest.mark.parametrize(
    ("reasons", "sentence"),
    [
        ([f"{FIELD}. Preview of field's value: 'a 'secret''", 'For input string: "a "secret""'],
         f"{FIELD}: For input string"),
        ([f"{FIELD}. Preview of field's value: '[secret]'", "failed to parse date field [[secret]] with format [year]",
          "Failed to parse with all enclosed parsers"],
         f"{FIELD}: failed to parse date field [...]: Failed to parse with all enclosed parsers"),
        (["failed to parse: [1:3] Current token (X) not numeric\n at [Source: (byte[])\"{\"n\": secret}\"; line: 1]",
          "[1:3] Current token (X) not numeric\n at [Source: (byte[])\"{\"n\": secret}\"; line: 1]"],
         "failed to parse: [1:3] Current token (X) not numeric"),
        ([FIELD, "'se'cret' is not an IP string literal"], f"{FIELD}: [...] is not an IP string literal"),
        (["Document contains an immense term. The prefix of the first immense term is: '[secret]...'"],
         "Document contains an immense term"),
    ],
    ids=["quotes", "brackets", "source", "apostrophes", "term"],
)  # fmt: skip
@pytest.mark.promise("P8")
def test_no_value_of_a_document_is_told(reasons: list[str], sentence: str) -> None:
    error: dict[str, Any] | None = None
    for reason in reversed(reasons):
        error = {"type": "document_parsing_exception", "reason": reason, **({"caused_by": error} if error else {})}
    assert item_failure(400, error).sentence == f"400 document_parsing_exception: {sentence}."


def test_what_is_none_of_the_clients_errors_is_named() -> None:
    assert failure(KeyError("took")) == ("other", False, "KeyError: 'took'")
    assert failure(ConnectionResetError(104, "Connection reset by peer"))[:2] == ("unreachable", True)


def test_an_answer_without_words_is_told_by_its_status() -> None:
    assert item_failure(502, None).sentence == "502 Bad Gateway."


def test_a_server_that_hangs_up_may_want_tls() -> None:
    found = failure(ConnectionError("('Connection aborted.', RemoteDisconnected('Remote end closed connection'))"))
    assert found.passing
    assert "whether it begins with https://" in found.sentence
    assert "https" not in failure(ConnectionError("[Errno 111] Connection refused")).sentence
