"""Whether a source connector can deliver exactly once, if required (KIP-618).

Errors have Kafka Connect's words: tools look for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connect.api.connector import ExactlyOnceSupport
from connect.errors import one_line
from connect.pipeline.findings import Findings

_SUPPORT, _BOUNDARY = "exactly.once.support", "transaction.boundary"


def check_exactly_once(
    found: Findings, connector: type[Any], worker: Mapping[str, str], config: Mapping[str, str]
) -> None:
    """Find errors of `exactly.once.support=required` and `transaction.boundary=connector`.

    Args:
        found: collects the findings.
        connector: the source connector's class. It is called on an instance of its own, and only if needed.
        worker: its configuration.
        config: the connector's.
    """
    if config.get(_SUPPORT, "").strip().lower() == "required":
        if worker.get("exactly.once.source.support", "").strip().lower() != "enabled":
            found.error(_SUPPORT, "This worker does not have exactly-once source support enabled.")
        try:
            support = connector().exactly_once_support(config)
        except (Exception, SystemExit) as error:
            found.error(_SUPPORT, f"An unexpected error occurred during validation: {one_line(error)}")
        else:
            if support is None:
                found.error(
                    _SUPPORT,
                    "The connector does not implement the API required for preflight validation of exactly-once source"
                    " support. Please consult the documentation for the connector to determine whether it supports"
                    " exactly-once semantics, and then consider reconfiguring the connector to use the value"
                    ' "requested" for this property (which will disable this preflight check and allow the connector to'
                    " be created).",
                )
            elif support is not ExactlyOnceSupport.SUPPORTED:
                found.error(
                    _SUPPORT, "The connector does not support exactly-once semantics with the provided configuration."
                )
    if config.get(_BOUNDARY, "").strip().lower() == "connector":
        try:
            defines = connector().can_define_transaction_boundaries(config)
        except (Exception, SystemExit) as error:
            found.error(_BOUNDARY, f"An unexpected error occurred during validation: {one_line(error)}")
        else:
            if not defines:
                found.error(
                    _BOUNDARY,
                    "The connector does not support connector-defined transaction boundaries with the given"
                    " configuration. Please reconfigure it to use a different transaction boundary definition.",
                )
