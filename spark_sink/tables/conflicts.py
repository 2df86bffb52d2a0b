"""Commits that other writers were in the way of."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable
from typing import Final

from connect.errors import RetriableError

log = logging.getLogger(__name__)

_TRIES: Final = 6  # of a commit that other writers were in the way of
#: What Delta says when another writer's commit was in the way. Nothing of ours was written then.
_CONFLICT: Final = re.compile(
    r"DELTA_CONCURRENT_|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED|"
    r"(?:Concurrent(?:Append|DeleteRead|DeleteDelete|Transaction|Write|Modification)|MetadataChanged|ProtocolChanged)"
    r"Exception"
)


def is_conflict(error: BaseException) -> bool:
    """Whether another writer's commit was in the way."""
    return _CONFLICT.search(str(error)) is not None


def until_nobody_is_in_the_way(table: str, attempt: Callable[[bool], None]) -> None:
    """Retry a commit when another writer's came first, and once when the table has changed since it was read.

    Args:
        table: for messages.
        attempt: called with whether to read the table again.
    """
    from pyspark.errors import AnalysisException

    for number in range(_TRIES):
        try:
            attempt(number > 0)
            return
        except Exception as error:
            conflict = _CONFLICT.search(str(error))
            if not conflict and (number or not isinstance(error, AnalysisException)):
                raise
            if number == _TRIES - 1:
                raise RetriableError(
                    f'Other writers were in the way of {_TRIES} commits to "{table}" one after the other '
                    f"({conflict[0] if conflict else type(error).__name__}). Let fewer write to the same rows."
                ) from error
            log.info("Writing to %s again: %s.", table, conflict[0] if conflict else "it was changed")
            if conflict:
                time.sleep(random.uniform(0.05, 0.2) * 2**number)  # noqa: S311 - spreads writers, keeps no secret
