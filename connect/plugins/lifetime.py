"""The life of a connector or a task: `stop` follows a `start` that returned, and then its exit stack is closed."""

from __future__ import annotations

import logging
import sys
from typing import Any, Generic, TypeVar

from connect.api.connector import Connector
from connect.api.engine import EngineTask
from connect.api.sink import SinkTask
from connect.api.source import SourceTask

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

log = logging.getLogger(__name__)

P = TypeVar("P", bound=Connector | SourceTask | SinkTask | EngineTask)


class Lifetime(Generic[P]):
    """Starts a connector or a task, and ends it. For one thread.

    The exit stack of its context is closed after `stop`, or as soon as `start` raised: with the error that ends the
    plug-in, as by a `with` around its whole life.

    Args:
        plugin: its context is set before it is started.
    """

    def __init__(self, plugin: P) -> None:
        self.plugin = plugin
        self._started = False

    def start(self, *args: Any, **options: Any) -> None:
        """Start it. Raises what its `start` raises."""
        try:
            self.plugin.start(*args, **options)
        except BaseException:
            self._close_after_error()
            raise
        self._started = True

    def end(self) -> None:
        """Stop it and close its exit stack. Does nothing where it has not started, or was already stopped.

        Raises what `stop` raises, else what closing raises.
        """
        if not self._started:
            return
        self._started = False
        try:
            self.plugin.stop()
        except BaseException:
            self._close_after_error()
            raise
        self._close()

    def _close(self) -> None:
        self.plugin.context.exit_stack.__exit__(*sys.exc_info())

    def _close_after_error(self) -> None:
        """Close the stack. Its own errors are logged: the plug-in's error was raised before."""
        try:
            self._close()
        except BaseException as error:
            log.error("While stopping: %s: %s", type(error).__name__, error, exc_info=error)
