"""Makes some of what schemathesis thinks up meaningful to a worker. It reads this file by SCHEMATHESIS_HOOKS.

Nearly all connectors that chance names do not exist, and nearly all configurations that it makes have no class: only
the first line of each operation would be tried.
"""

import os
from typing import Any

import schemathesis

CONNECTOR, FILE = os.environ["TRIED_CONNECTOR"], os.environ["TRIED_FILE"]
MEANT = {"connector.class": "FileStreamSource", "topic": "tried", "file": FILE}
NAMES = {"connector": CONNECTOR, "plugin": "FileStreamSource", "logger": "connect.tried", "task": "0"}


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Name what exists, in two of three cases. What is deleted is left to chance: it would soon be gone."""
    if path_parameters and context.operation.method != "delete":
        for name, value in path_parameters.items():
            if sum(str(value).encode(errors="replace")) % 3:
                path_parameters[name] = NAMES.get(name, value)
    return path_parameters


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Give a configuration what a file source needs."""
    if (
        context.operation.label in {"POST /connectors", "PUT /connector-plugins/{plugin}/config/try"}
        and isinstance(body, dict)
        and isinstance(body.get("config"), dict)
    ):
        body["config"].update(MEANT)
    elif context.operation.label == "PUT /connectors/{connector}/config" and isinstance(body, dict):
        body.update(MEANT)
    return body
