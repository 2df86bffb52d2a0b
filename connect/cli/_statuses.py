"""The states of connectors and tasks, as a cluster reports them, without secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect.cli._moments import in_words
from connect.cli._rest_client import RestClient
from connect.connector_states import error_line, parts
from connect.telemetry.redaction import redactor


def status_of(client: RestClient, name: str) -> dict[str, Any]:
    """A connector's status, in Kafka Connect's form and with tasks without progress STALLED, without secrets."""
    return _redacted(client.get("connectors", name, "status", stalled="true"))


def statuses_of(client: RestClient, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Of these connectors; of all if there are none."""
    if names:
        return [status_of(client, name) for name in names]
    answer = client.get("connectors", expand="status", stalled="true")
    # What is being made or deleted has no status.
    return [_redacted(answer[name]["status"]) for name in sorted(answer) if answer[name].get("status")]


def _redacted(status: dict[str, Any]) -> dict[str, Any]:
    for part in parts(status):
        if "trace" in part:
            part["trace"] = redactor.redact(part["trace"])
        if "waiting" in part:
            part["waiting"]["reason"] = redactor.redact(part["waiting"]["reason"])
    return status


def reason(part: Mapping[str, Any]) -> str:
    """Why it failed or waits, in a line."""
    if "waiting" in part:
        return f"since {in_words(part['waiting']['since_ms'])}: {part['waiting']['reason']}"
    return error_line(part.get("trace"))


def measured_of(client: RestClient, names: Sequence[str] = ()) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The statuses of these connectors, or of all, and their metrics by name: none from a Java worker.

    One request, however many connectors there are. A connector that the list does not have is requested by itself, so
    that the cluster says why.
    """
    expand = ["status"] if client.is_of_java() else ["status", "metrics"]
    answer = client.get("connectors", expand=expand, stalled="true")
    statuses = []
    for name in names or sorted(answer):
        status = answer.get(name, {}).get("status")
        if status is not None:
            statuses.append(_redacted(status))
        elif names:
            statuses.append(status_of(client, name))
    return statuses, {name: found["metrics"] for name, found in answer.items() if found.get("metrics")}
