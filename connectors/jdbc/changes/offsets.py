"""Offsets that are written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from connect import ConnectError


def check(
    prefix: str | None,
    offsets: Mapping[Any, Mapping[str, Any] | None],
    is_position: Callable[[Mapping[str, Any]], bool],
    otherwise: str,
) -> None:
    """Refuse offsets that a task could not continue from.

    Args:
        prefix: the name of the source.
        offsets: by their partitions; null removes one, of whatever partition.
        is_position: whether an offset says a position in the log.
        otherwise: what is said of one that does not.

    Raises:
        ConnectError: a partition is not the source's, or an offset has no position.
    """
    for partition, offset in offsets.items():
        if offset is None:
            continue
        if dict(partition) != {"server": prefix}:
            raise ConnectError(f'The source partition reads {{"server": "{prefix}"}}, topic.prefix as configured.')
        if not is_position(offset):
            raise ConnectError(otherwise)
