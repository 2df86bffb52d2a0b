"""Which topics the pattern of a sink matches (`topics.regex`), for callers in the worker's process.

A user's pattern may take any time on a name, and no other thread of Python runs meanwhile: so it runs in a process that
is killed when it does not return. That is not a connector host, which other connectors share.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final

from connect.errors import ConnectError
from connect.pipeline.error_kinds import ErrorKind
from connect.worker import messages
from connect.worker.hosts import ConnectorCallError, ConnectorHosts

#: For a piece of the names; the process may have to be started first.
PATIENCE_S: Final = 5.0
_PIECE: Final = 5_000


class _TooLongError(ConnectError):
    """The pattern takes too long: asked again about the same names it would again."""


class TopicPatterns:
    """Runs the patterns. Safe to use from many threads; the process is started on first use."""

    def __init__(self) -> None:
        level = logging.getLogger("connect").getEffectiveLevel()
        self._hosts = ConnectorHosts([], level)

    def chooser(self, connector: str, pattern: str) -> Callable[[Collection[str]], Collection[str]]:
        """A function that chooses among names of topics. For one thread; it caches the answer until the names change.

        It raises ConnectError: the pattern is invalid, or takes too long.
        """
        there: frozenset[str] | None = None
        found: list[str] | _TooLongError = []

        def choose(names: Collection[str]) -> Collection[str]:
            nonlocal there, found
            if there != (asked := frozenset(names)):
                try:
                    found = self._matching(connector, pattern, sorted(asked))
                except _TooLongError as error:
                    found = error
                there = asked
            if isinstance(found, _TooLongError):
                raise found
            return found

        return choose

    def close(self) -> None:
        """End the process."""
        self._hosts.close()

    def _matching(self, connector: str, pattern: str, names: Sequence[str]) -> list[str]:
        found: list[str] = []
        for at in range(0, len(names), _PIECE):
            piece = list(names[at : at + _PIECE])
            try:
                found += self._asked(connector, pattern, piece)
            except ConnectorCallError as error:
                kind, why = ConnectError, str(error)
                if error.kind is ErrorKind.STALLED:
                    kind, why = (
                        _TooLongError,
                        "matching takes too long. Write a pattern without repetitions within repetitions",
                    )
                raise kind(f"The topics of connector {connector} are not known: topics.regex: {why}") from error
        return found

    def _asked(self, connector: str, pattern: str, names: list[str]) -> list[str]:
        def ask() -> list[str]:
            return self._hosts.call(None, connector, messages.Match(pattern, names), PATIENCE_S, list[str])

        try:
            return ask()
        except ConnectorCallError as error:
            if error.kind is not ErrorKind.CRASH:
                raise
            return ask()  # its process was killed for the sake of another one's pattern
