"""Finds the record that a put refuses, by halving its batch: `errors.put.tolerance=all`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from connect.api.sink import SinkTask
from connect.data.batch import SinkBatch
from connect.errors import ConfigError, RetriableError
from connect.settings.error_keys import PUT_TOLERANCE

_KEY = "errors.put.tolerance"


class Refused(NamedTuple):
    """A put to repeat: what is left of the batch, and the task's error."""

    rest: SinkBatch
    error: RetriableError


def halves_puts(connector: Mapping[str, str], task: SinkTask) -> bool:
    """Whether puts are halved.

    Raises:
        ConfigError: they should be, and the task does not declare that it supports that.
    """
    if PUT_TOLERANCE.parse(connector)[_KEY] != "all":
        return False
    if not (task.atomic or task.idempotent):
        raise ConfigError(
            _KEY,
            f"cannot be all: {type(task).__qualname__} does not declare its put atomic or idempotent, so part of"
            " a batch might be written twice. Remove the key, or report single records by context.errant_records.",
        )
    return True


def put_in_parts(
    put: Callable[[SinkBatch], None],
    batch: SinkBatch,
    give_up: Callable[[SinkBatch, Exception], None],
    go_on: Callable[[SinkBatch], SinkBatch] = lambda part: part,
) -> Refused | None:
    """Put a refused batch, in halves, in order.

    Args:
        put: puts a part.
        batch: at least one record.
        give_up: called with each single record that is refused, and the error; its own errors end everything.
        go_on: the remaining records of a part when it is its turn.

    Returns:
        None when everything was accepted or given up.
    """
    parts = deque(_halves(batch))
    while parts:
        part = go_on(parts.popleft())
        if not len(part):
            continue
        try:
            put(part)
        except RetriableError as error:
            return Refused(SinkBatch.concat([part, *parts]), error)
        except Exception as error:  # plug-ins raise anything
            if len(part) == 1:
                give_up(part, error)
            else:
                parts.extendleft(reversed(_halves(part)))
    return None


def _halves(batch: SinkBatch) -> list[SinkBatch]:
    middle = len(batch) // 2
    return [half for half in (batch.slice(0, middle), batch.slice(middle, len(batch))) if len(half)]
