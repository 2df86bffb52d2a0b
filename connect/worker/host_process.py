"""The process that connectors of one plug-in share: it validates, starts and stops them, and configures tasks.

Calls are answered one after another, in order of arrival. While one takes long, others are answered beside it, except
those on the same connector. A connector that hangs is given up by the worker after a while: the worker kills this
process, and starts another one for the neighbours.
"""

from __future__ import annotations

import itertools
import logging
import os
import queue
import signal
import socket
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from connect.api.connector import Connector
from connect.api.metrics import PluginMetrics
from connect.errors import ConfigError, ConnectError, one_line
from connect.pipeline.error_kinds import kind_of
from connect.plugins import Plugins
from connect.plugins.clear_secrets import clear_secrets
from connect.plugins.lifetime import Lifetime
from connect.telemetry.levels import levels
from connect.telemetry.metrics import Registry
from connect.telemetry.redaction import Redactor
from connect.worker import guard, messages
from connect.worker.background import KeyedQueues
from connect.worker.channel import Channel, cut
from connect.worker.remote_log import send_logs

if TYPE_CHECKING:
    from connect.pipeline.findings import KeyDefinition, Validation

log = logging.getLogger("connect.worker.host")

#: Seconds. Calls of one plug-in's connectors are quick as a rule: more threads would only compete.
_LONG_S: Final = 0.5
_ON_A_CONNECTOR: Final = (messages.StartConnector, messages.CutTasks, messages.StopConnector)


class HostSpec(msgspec.Struct, frozen=True):
    """All that a host process needs to start.

    Attributes:
        plugin_path: folders with converters and transformations for validation.
        log_level: of its loggers.
        log_levels: see `TaskSpec`.
    """

    plugin_path: list[str]
    log_level: int
    log_levels: list[tuple[str, str]] = []


def main(spec: bytes, end: socket.socket) -> None:
    """Answer calls until the worker closes the pipe."""
    guard.die_with_server()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Host(msgspec.msgpack.decode(spec, type=HostSpec), Channel(end)).run()


class Host:
    """Connectors by name, and the calls on them. `run` is for the main thread; others answer calls."""

    def __init__(self, spec: HostSpec, channel: Channel) -> None:
        self._channel = channel
        self._plugins = Plugins.discover([Path(folder) for folder in spec.plugin_path])
        self._connectors: dict[str, Lifetime[Connector]] = {}
        self._calls = KeyedQueues(1, _LONG_S)
        self._offsets: dict[int, queue.SimpleQueue[messages.Offsets]] = {}
        self._questions = itertools.count(1)
        self._redactor = Redactor()
        send_logs(channel, self._redactor, spec.log_level, spec.log_levels)

    def run(self) -> None:
        """Have calls answered until the worker closes the pipe, which ends the process."""
        while True:
            try:
                message = self._channel.receive()
            except (EOFError, OSError):
                os._exit(0)
            if isinstance(message, messages.Call):
                # Only these are on a connector that runs: what else is asked need not wait for it.
                ordered = isinstance(message.request, _ON_A_CONNECTOR)
                key = message.connector if ordered else f"question {message.question}"
                self._calls.submit(key, partial(self._answer, message))
            elif isinstance(message, messages.SetLevel):
                levels.set(message.logger, message.level)
            elif isinstance(message, messages.Offsets):
                waiting = self._offsets.pop(message.question, None)
                if waiting is not None:
                    waiting.put(message)

    def _answer(self, call: messages.Call) -> None:
        try:
            answer = messages.Answer(call.question, self._carry_out(call.connector, call.request))
        except BaseException as error:
            answer = self._refusal(call, error)
        try:
            self._channel.send(answer)
        except (TypeError, ValueError, ConnectError) as error:  # it cannot be said, or is too much
            self._channel.send(self._refusal(call, error))

    def _refusal(self, call: messages.Call, error: BaseException) -> messages.Answer:
        return messages.Answer(call.question, None, *self.describe(error), kind_of(error))

    # The calls.

    def _carry_out(self, connector: str, request: messages.Request) -> Any:
        match request:
            case messages.Validate():
                return self._validate(request)
            case messages.Match():
                return self._match(request)
            case messages.StartConnector():
                return self._start(connector, request)
            case messages.CutTasks(max_tasks):
                return _task_configs(self._connectors[connector].plugin, max_tasks)
            case messages.StopConnector():
                life = self._connectors.pop(connector, None)
                return None if life is None else life.end()
            case messages.AlterOffsets():
                return self._alter_offsets(request)
            case messages.DescribeSettings():
                return self._settings(request)
            case messages.ListChoices():
                return self._choices(request)

    def _validate(self, request: messages.Validate) -> Validation:
        from connect.pipeline.validation import validate

        self._redactor.remember(request.config[key] for key in request.secret_keys)
        return validate(self._plugins, request.worker, request.config, secret_keys=request.secret_keys)

    def _match(self, request: messages.Match) -> list[str]:
        from connect.settings.java_regex import java_regex

        matches = java_regex(request.pattern).fullmatch
        return [name for name in request.names if matches(name)]

    def _start(self, connector: str, request: messages.StartConnector) -> messages.ConnectorStarted:
        from connect.plugins.engines import chosen_engine, spreads
        from connect.plugins.loading import load_class

        self._redactor.remember(request.secrets)
        made: Connector = load_class(request.target, request.folder)()
        self._redactor.remember(clear_secrets(made.settings, request.config))
        for key, message in made.settings.remarks(request.config):
            log.warning('Connector "%s": %s %s', connector, key, message)
        made.context = HostedContext(self, connector, Registry().labelled(connector=connector))
        life = Lifetime(made)
        life.start(request.config)
        self._connectors[connector] = life
        task = made.task_class()
        engine = chosen_engine(type(made), request.config, {"engine.default": request.engine_default})
        named = f"{task.__module__}:{task.__qualname__}"
        return messages.ConnectorStarted(named, made.version, engine, spreads(engine))

    def _alter_offsets(self, request: messages.AlterOffsets) -> messages.CheckedOffsets:
        from connect.data.record import TopicPartition
        from connect.plugins.engines import chosen_engine, is_of_engine, keeps_position
        from connect.plugins.loading import load_class

        made: Any = load_class(request.target, request.folder)()
        self._redactor.remember(clear_secrets(made.settings, request.config))
        changes = {
            frozenset(partition.items()) if isinstance(partition, dict) else TopicPartition(*partition): offset
            for partition, offset in request.offsets
            if not (offset is None and is_of_engine(partition))
        }
        engine = chosen_engine(type(made), request.config, {"engine.default": request.engine_default})
        return messages.CheckedOffsets(bool(made.alter_offsets(request.config, changes)), keeps_position(engine))

    def _settings(self, request: messages.DescribeSettings) -> list[KeyDefinition]:
        from connect.pipeline.findings import definitions
        from connect.plugins.loading import load_class
        from connect.settings.connector_keys import SINK, SOURCE

        declared = load_class(request.target, request.folder).settings
        common = {"source": [SOURCE], "sink": [SINK]}.get(request.kind, [])
        return definitions(declared, *common)

    def _choices(self, request: messages.ListChoices) -> messages.Listed:
        from connect.plugins.loading import load_class

        self._redactor.remember(request.secrets)
        made: Connector = load_class(request.target, request.folder)()
        try:
            found = made.choices(request.key, request.config)
            if found is None:
                return messages.Listed(None)
            values = [str(value) for value in itertools.islice(found, request.most + 1)]
        except ConfigError as error:  # its own words would look like a secret behind the key of one
            raise ConnectError(f"{error.key}: {error.message}") from error
        return messages.Listed(values[: request.most], truncated=len(values) > request.most)

    # The pipe.

    def ask_offset(self, connector: str, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The stored offset of a source partition."""
        question = next(self._questions)
        waiting = self._offsets[question] = queue.SimpleQueue()
        self._channel.send(messages.AskOffsets(question, [dict(partition)], connector))
        answer = waiting.get()
        if answer.error is not None:
            raise ConnectError(answer.error)
        return answer.offsets[0]

    def describe(self, error: BaseException) -> tuple[str, str]:
        """An error in one line, and with its trace; both without secrets."""
        summary = one_line(error)
        if not isinstance(error, ConnectError):
            summary = f"{type(error).__name__}: {summary}"
        trace = "".join(traceback.format_exception(error))
        return cut(self._redactor.redact(summary)), cut(self._redactor.redact(trace))

    def tell(self, message: messages.Message) -> None:
        """Send a message to the worker."""
        self._channel.send(message)


class HostedContext:
    """See `connect.api.connector.ConnectorContext`."""

    def __init__(self, host: Host, name: str, metrics: PluginMetrics) -> None:
        self.name = name
        self.metrics = metrics
        self.exit_stack = ExitStack()
        self._host = host

    def request_task_reconfiguration(self) -> None:
        self._host.tell(messages.Reconfigure(self.name))

    def raise_error(self, error: Exception) -> None:
        self._host.tell(messages.ConnectorFailed(self.name, *self._host.describe(error), kind_of(error)))

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._host.ask_offset(self.name, partition)


def _task_configs(plugin: Connector, most: int) -> list[dict[str, str]]:
    """A connector's task configurations, as texts. Raises TypeError: they are something else."""
    configs = list(plugin.task_configs(most))
    if not all(isinstance(config, Mapping) for config in configs):
        raise TypeError(f"{type(plugin).__name__}.task_configs returns a list with a mapping for each task.")
    return [{str(key): str(value) for key, value in config.items()} for config in configs]
