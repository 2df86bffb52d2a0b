"""The worker's side of connector host processes: starts them, calls them, ends them.

Those that hang are killed (P6), those in which nothing runs end some minutes after the last call.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Protocol, TypeVar

import msgspec

from connect.errors import ConnectError
from connect.pipeline.error_kinds import ErrorKind
from connect.pipeline.findings import Validation
from connect.plugins import PluginRef
from connect.telemetry.levels import levels
from connect.worker import host_process, messages
from connect.worker.channel import Garbled, cut
from connect.worker.processes import ChildProcess, how_it_ended
from connect.worker.remote_log import write_log

log = logging.getLogger("connect.worker")

#: What tells hosts apart: the connector that has one to itself, or a number; the plug-in, and the folders that code
#: comes from. A process imports a module once: each version of a plug-in has its own process.
_Key = tuple[str | int, ...]
#: How long a host is kept in which no connector runs: whoever edits a configuration asks again and again.
IDLE_S = 300.0

T = TypeVar("T")


class ConnectorCallError(ConnectError):
    """A connector's method failed, hung, or its process died.

    Attributes:
        trace: the whole error, without secrets.
        kind: of the error.
    """

    def __init__(self, message: str, trace: str | None = None, kind: ErrorKind = ErrorKind.CRASH) -> None:
        super().__init__(message)
        self.trace = trace or message
        self.kind = kind


class ConnectorProcessEnded(ConnectorCallError):
    """The process of a connector died before it answered."""


class HostListener(Protocol):
    """Receives events of connectors. Called on the host's reading thread."""

    def reconfigure(self, connector: str) -> None:
        """The connector wants its task configurations recomputed."""

    def connector_failed(self, connector: str, summary: str, trace: str, kind: ErrorKind) -> None:
        """The connector raised an error outside of a call, or its own process died."""

    def connector_lost(self, connector: str) -> None:
        """The process that the connector shared has died, because of another connector or for an unknown reason.

        If that process crashed, it gets one of its own when it is started again: nobody knows whose code did it.
        """

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """Stored offsets, for a connector that requests them."""


class ConnectorHosts:
    """One host process for each plug-in, and one for each connector that once hung or crashed its own.

    Args:
        plugin_path: folders of plug-ins.
        log_level: for the hosts' loggers.
    """

    def __init__(self, plugin_path: Sequence[str], log_level: int) -> None:
        self._listener: HostListener = _Nobody()
        self._plugin_path = list(plugin_path)
        self._log_level = log_level
        self._hosts: dict[_Key, _Host] = {}
        self._separated: set[str] = set()
        self._numbers = itertools.count(1)
        self._closed = False
        self._lock = threading.Lock()

    def listen(self, listener: HostListener) -> None:
        """Set the listener; call it before the first connector."""
        self._listener = listener

    def validate(
        self,
        ref: PluginRef | None,
        worker: Mapping[str, str],
        config: Mapping[str, str],
        secret_keys: Iterable[str],
        timeout: float,
        folders: Iterable[str] = (),
    ) -> Validation:
        """What `connect.pipeline.validation.validate` finds. Raises `ConnectorCallError`.

        Args:
            folders: of plugin.path, from which converters, transformations and predicates are loaded.
        """
        request = messages.Validate(dict(worker), dict(config), sorted(secret_keys))
        return self.call(ref, config.get("name", ""), request, timeout, Validation, folders)

    def call(
        self,
        ref: PluginRef | None,
        connector: str,
        request: messages.Request,
        timeout: float,
        answer: type[T],
        folders: Iterable[str] = (),
    ) -> T:
        """Call something in the process of a connector, and wait for the result, which is of this type.

        Args:
            folders: of other plug-ins that the call loads: the same ones in each call of that process.

        Raises:
            ConnectorCallError: it raised, it took longer than `timeout` seconds, or its process died.
        """
        host = self._host(ref, connector, folders)
        try:
            result = host.call(connector, request, timeout)
            host.note(connector, request)
            return msgspec.convert(result, answer)
        except ConnectorCallError:
            # Was it killed for the sake of another connector, or of a deleted one of this name? Whoever asks about a
            # configuration need not know.
            innocent = host.forgotten or host.given_up not in {None, connector}
            if not (innocent and isinstance(request, messages.Validate)):
                raise
            return self.call(ref, connector, request, timeout, answer, folders)
        except FutureTimeoutError:
            self._give_up(host, connector)
            raise ConnectorCallError(
                f"Connector {connector or '(new)'} did not return from {request.__struct_config__.tag} within"
                f" {timeout:g} s. Its process was killed; look for a call that waits without a time-out.",
                kind=ErrorKind.STALLED,
            ) from None
        finally:
            self._left(host)

    def call_apart(self, ref: PluginRef, request: messages.Request, timeout: float, answer: type[T]) -> T:
        """The same in a process of its own, which ends with it: no connector waits for what this waits for."""
        host = self._apart()
        try:
            return msgspec.convert(host.call("", request, timeout), answer)
        except FutureTimeoutError:
            within = f"{ref.name} did not answer within {timeout:g} s."
            raise ConnectorCallError(within, kind=ErrorKind.STALLED) from None
        finally:
            with self._lock:
                self._hosts.pop(host.key, None)
            host.close()

    def tell(self, message: messages.Message) -> None:
        """Send a message to all running hosts."""
        with self._lock:
            hosts = list(self._hosts.values())
        for host in hosts:
            host.tell(message)

    def abandon(self, connector: str) -> None:
        """Give up waiting for a connector: if a call on it is running, its process is killed, and the call fails."""
        with self._lock:
            busy = [host for host in self._hosts.values() if connector in host.calls]
        for host in busy:
            log.warning("It did not come back in time. Its process is killed", extra={"about": connector})
            self._give_up(host, connector)

    def forget(self, connector: str) -> None:
        """A connector was deleted: the next one of its name starts in its plug-in's shared process again."""
        with self._lock:
            self._separated.discard(connector)
            owned = [key for key in self._hosts if connector and key[0] == connector]
            own = [self._hosts.pop(key) for key in owned]
        for host in own:
            host.forgotten = True
            host.close()

    def close(self) -> None:
        """End all hosts."""
        with self._lock:
            self._closed = True
            hosts, self._hosts = list(self._hosts.values()), {}
        for host in hosts:
            host.close()

    def _host(self, ref: PluginRef | None, connector: str, folders: Iterable[str] = ()) -> _Host:
        target, own = ("no plug-in", "") if ref is None else (ref.target, ref.folder or "")
        key: _Key = (connector if connector in self._separated else "", target, own, *sorted({*folders} - {own}))
        with self._lock:
            host = self._hosts.get(key)
            # One that is being killed may look alive for a moment.
            if host is None or not host.alive or host.given_up is not None:
                host = self._hosts[key] = _Host(key, self._spec(), self._listener, self._died)
            host.connectors.add(connector)
            host.users += 1
            return host

    def _left(self, host: _Host) -> None:
        with self._lock:
            host.users -= 1
            if host.idle_until is not None:
                host.idle_until.cancel()
                host.idle_until = None
            if host.is_idle and not self._closed:
                host.idle_until = threading.Timer(IDLE_S, self._end_if_idle, (host,))
                host.idle_until.daemon = True
                host.idle_until.start()

    def _end_if_idle(self, host: _Host) -> None:
        with self._lock:
            if not host.is_idle or self._hosts.get(host.key) is not host:
                return
            del self._hosts[host.key]
        host.close()

    def _apart(self) -> _Host:
        with self._lock:
            if self._closed:
                raise ConnectorCallError("The worker is shutting down.")
            key: _Key = (next(self._numbers),)
            made = self._hosts[key] = _Host(key, self._spec(), _Nobody(), lambda _, __: None)
            return made

    def _spec(self) -> bytes:
        return msgspec.msgpack.encode(host_process.HostSpec(self._plugin_path, self._log_level, levels.asked()))

    def _give_up(self, host: _Host, connector: str) -> None:
        with self._lock:
            self._separated.add(connector)
            host.connectors.discard(connector)
        host.given_up = connector
        host.kill()

    def _died(self, host: _Host, words: str) -> None:
        with self._lock:
            if self._hosts.get(host.key) is host:  # there may be another one already
                del self._hosts[host.key]
            connectors = sorted(host.connectors - {""})
            shared = not host.key[0]
            if host.given_up is None:  # whichever it was, it will not take the others with it again
                self._separated.update(connectors)
        for connector in connectors:
            if shared:
                self._listener.connector_lost(connector)
            else:
                self._listener.connector_failed(connector, words, words, ErrorKind.CRASH)


class _Nobody:
    """The listener of hosts without connectors."""

    def reconfigure(self, connector: str) -> None: ...

    def connector_failed(self, connector: str, summary: str, trace: str, kind: ErrorKind) -> None: ...

    def connector_lost(self, connector: str) -> None: ...

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return [None] * len(partitions)


class _Host:
    """One host process."""

    def __init__(self, key: _Key, spec: bytes, listener: HostListener, died: Callable[[_Host, str], None]) -> None:
        self.key = key
        self.name = f"apart {key[0]}" if isinstance(key[0], int) else f"own {key[0]}" if key[0] else str(key[1])
        self.connectors: set[str] = set()
        self.calls: list[str] = []  # the connectors of which a call is under way
        self.running: set[str] = set()  # those that it was asked to start, and not to stop
        self.users = 0  # calls that have it, or are about to
        self.idle_until: threading.Timer | None = None
        self.given_up: str | None = None  # the connector for whose sake it was killed
        self.forgotten = False  # it was killed because its connector was deleted
        self._listener = listener
        self._died = died
        self._waiting: dict[int, Future[Any]] = {}
        self._questions = itertools.count(1)
        self._closing = False
        self._ended: str | None = None  # how, once that is known
        self._child = ChildProcess(host_process.main, spec)
        self._killing = threading.Lock()
        self.alive = True
        threading.Thread(target=self._read, name=f"host {self.name}", daemon=True).start()

    def call(self, connector: str, request: messages.Request, timeout: float) -> Any:
        question = next(self._questions)
        answer: Future[Any] = Future()
        self._waiting[question] = answer
        self.calls.append(connector)
        try:
            with contextlib.suppress(OSError):  # it is gone, or does not read: then it does not answer either
                self._child.channel.send(messages.Call(question, connector, request), timeout)
            if self._ended is not None:  # before the question was among those that are answered then
                self._fail_waiting(self._ended)
            return answer.result(timeout)
        finally:
            self.calls.remove(connector)
            self._waiting.pop(question, None)

    @property
    def is_idle(self) -> bool:
        """Whether no connector runs in it and nobody calls it."""
        return not self.users and not self.running

    def note(self, connector: str, request: messages.Request) -> None:
        """It has done what was asked."""
        if isinstance(request, messages.StartConnector):
            self.running.add(connector)
        elif isinstance(request, messages.StopConnector):
            self.running.discard(connector)

    def tell(self, message: messages.Message) -> None:
        with contextlib.suppress(OSError):  # it is gone, or does not read
            self._child.channel.send(message, 0)

    def kill(self) -> None:
        with self._killing:
            if self.alive:
                self._child.kill()

    def close(self) -> None:
        self._closing = True
        if self.idle_until is not None:
            self.idle_until.cancel()
        self.kill()

    def _read(self) -> None:
        garbled = ""
        while True:
            try:
                message = self._child.channel.receive()
            except (EOFError, OSError):
                break
            except Garbled as error:
                garbled = f"wrote what is not a message to its control pipe: {cut(str(error), 300)}. It was ended."
                break
            try:
                self._take(message)
            except Exception:  # its neighbours still wait for answers
                log.exception("A connector's message could not be handled", extra={"about": self.name})
        with self._killing:  # from here on its descriptors may be those of another process
            self.alive = False
            self._child.kill()
        code = self._child.reap()
        words = f"The connector's process {garbled}" if garbled else how_it_ended(code)
        words = self._ended = words.replace("The task's", "The connector's")
        self._fail_waiting(words)
        if not self._closing:
            self._died(self, words)

    def _take(self, message: messages.AnyMessage) -> None:
        match message:
            case messages.Answer():
                waiting = self._waiting.pop(message.question, None)
                if waiting is None:
                    return
                if message.error is not None:
                    trace = None if message.trace is None else cut(message.trace)
                    waiting.set_exception(ConnectorCallError(cut(message.error), trace, message.kind))
                else:
                    waiting.set_result(message.result)
            case messages.Reconfigure():
                self._listener.reconfigure(message.connector)
            case messages.ConnectorFailed():
                words = cut(message.summary), cut(message.trace)
                self._listener.connector_failed(message.connector, *words, message.kind)
            case messages.AskOffsets():
                self._answer_offsets(message)
            case messages.Log():
                write_log(message, self.name)

    def _answer_offsets(self, message: messages.AskOffsets) -> None:
        try:
            found = self._listener.source_offsets(message.connector, message.partitions)
            answer = messages.Offsets(message.question, [None if o is None else dict(o) for o in found])
        except ConnectError as error:
            answer = messages.Offsets(message.question, [], str(error))
        with contextlib.suppress(OSError):
            self._child.channel.send(answer)

    def _fail_waiting(self, words: str) -> None:
        for question in list(self._waiting):
            waiting = self._waiting.pop(question, None)
            if waiting is not None and not waiting.done():
                waiting.set_exception(ConnectorProcessEnded(words))
