"""Puts the simulation in the place of threads, clocks, chance, clients and processes, in the modules of the product.

Product code stays as it is: in its modules the names of what comes from outside stand for something else meanwhile.
"""

from __future__ import annotations

import concurrent.futures
import importlib
import logging
import queue
import random
import secrets
import sys
import threading
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from connect.plugins import Plugins
from connect.telemetry.levels import levels
from connect.telemetry.outages import Waiter
from connect.worker.lease import now
from tests.simulation import clients, futures, processes, threads
from tests.simulation.scheduler import running

#: What runs in the simulation.
_ROOMS: Final = ("connect.herder", "connect.storage", "connect.kafka", "connect.worker", "connect.telemetry.metrics")
_KAFKA_PYTHON: Final = (
    "kafka.coordinator.base",
    "kafka.coordinator.heartbeat",
    "kafka.future",
    "kafka.util",
    "kafka.net.wakeup_notifier",
)
_IMPORTED: Final = (
    "connect.herder.worker_herder",
    "connect.herder.group_member",
    "connect.herder.worker",
    "connect.kafka.group.coordinator",
    "connect.kafka.admin.client",
    "connect.storage.config_log",
    "connect.storage.topic_offsets",
    "connect.storage.topic_status",
    "connect.worker.control",
    "connect.worker.supervisor",
    *_KAFKA_PYTHON,
)


class _Random:
    """The module `random`."""

    @staticmethod
    def random() -> float:
        return running.scheduler.chance()


class _Secrets:
    """The module `secrets`."""

    @staticmethod
    def token_bytes(size: int) -> bytes:
        return running.scheduler.random.randbytes(size)


class _NoLock:
    """For what one fiber has alone."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *_: object) -> None:
        pass


class _NoLocks:
    """`threading`, for kafka-python's futures."""

    Lock = RLock = _NoLock


class _Waiter:
    """`connect.telemetry.outages.Waiter`: outages are only told."""

    wait = None

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def waits(self, *_: Any, **__: Any) -> None:
        pass

    def goes_on(self) -> None:
        pass

    def leaves(self) -> None:
        pass


class _Levels:
    """`connect.telemetry.levels.levels`: the levels of loggers are those of the test."""

    def listen(self, _: Any) -> None:
        pass

    def forget(self, _: Any) -> None:
        pass

    def set(self, *_: Any) -> list[str]:
        return []

    def asked(self) -> list[tuple[str, str]]:
        return []


class _Plugins:
    """`Plugins`: found once for all workers."""

    found: Plugins | None = None

    @classmethod
    def discover(cls, folders: Any) -> Plugins:
        if cls.found is None:
            cls.found = Plugins.discover(folders)
        return cls.found


class _Coordinator:
    """For `Membership`: a client that is connected."""

    @staticmethod
    def connected_client(_: Any, __: float) -> Any:
        return running.world.group_client()


def _producer(log: Any, transactional_id: str | None) -> clients.Producer:
    return clients.Producer(running.world.clients(), transactional_id, log._patience)


def _clock_defaults(module: types.ModuleType) -> Iterator[tuple[types.FunctionType, tuple[Any, ...]]]:
    """Functions with a real clock as a default."""
    for thing in list(vars(module).values()):
        inside = list(vars(thing).values()) if isinstance(thing, type) and thing.__module__ == module.__name__ else []
        for each in (thing, *inside):
            if isinstance(each, types.FunctionType) and any(
                default is time.monotonic or default is time.time for default in each.__defaults__ or ()
            ):
                yield each, each.__defaults__ or ()


@contextmanager
def replaced() -> Iterator[None]:
    """Within it, the product runs in the world that `running` has."""
    for name in _IMPORTED:
        importlib.import_module(name)
    instead: dict[int, Any] = {
        id(threading): threads.threading,
        id(time): threads.time,
        id(queue): threads.queue,
        id(random): _Random,
        id(secrets): _Secrets,
        id(concurrent.futures.Future): futures.Future,
        id(concurrent.futures.ThreadPoolExecutor): futures.ThreadPoolExecutor,
        id(concurrent.futures.wait): futures.wait,
        id(now): threads.time.boot_time,
        id(Waiter): _Waiter,
        id(levels): _Levels(),
    }
    undo: list[tuple[Any, str, Any]] = []

    def put(where: Any, name: str, value: Any) -> None:
        undo.append((where, name, getattr(where, name)))
        setattr(where, name, value)

    for name, module in list(sys.modules.items()):
        if not (name.startswith(_ROOMS) or name in _KAFKA_PYTHON):
            continue
        for function, defaults in _clock_defaults(module):
            clocks = {id(time.monotonic): threads.time.monotonic, id(time.time): threads.time.time}
            put(function, "__defaults__", tuple(clocks.get(id(each), each) for each in defaults))
        for key, value in list(vars(module).items()):
            if id(value) in instead:
                put(module, key, instead[id(value)])
    put(sys.modules["kafka.future"], "threading", _NoLocks)
    put(sys.modules["kafka.coordinator.base"], "threading", _NoLocks)
    supervisor, hosts = sys.modules["connect.worker.supervisor"], sys.modules["connect.worker.hosts"]
    put(supervisor, "os", processes.Os())
    put(supervisor, "select", processes.Select)
    put(supervisor, "selectors", processes.Selectors)
    put(supervisor, "OwnProcess", processes.Process)
    put(supervisor.TaskProcess, "__hash__", lambda self: self.child.pid)  # else their order in a set is of no run
    put(hosts, "ChildProcess", processes.Process)
    put(sys.modules["connect.worker.processes"], "start_server", lambda: None)
    put(sys.modules["connect.worker.control"], "os", processes.Os())
    log = sys.modules["connect.kafka.compacted_log"]
    put(log, "assigned_consumer", lambda *_: clients.Consumer(running.world.clients()))
    put(log, "arrivals", lambda consumer, _: clients.Arrivals(consumer))
    put(log, "make_or_check", clients.make_or_check)
    put(log, "end_offsets", clients.end_offsets)
    put(log, "ClientErrors", lambda *_, **__: clients.NoErrors())
    put(log, "client_settings", lambda *_: types.SimpleNamespace(librdkafka={}))
    put(log.CompactedLog, "_new_producer", _producer)
    put(sys.modules["connect.kafka.admin.client"], "Admin", lambda *_: clients.Admin(running.world.clients()))
    worker = sys.modules["connect.herder.worker"]
    put(worker, "Plugins", _Plugins)
    put(worker, "remove_member", lambda *_: None)
    put(worker, "abort_left_open", lambda _, name, __, ___: running.world.fence([name]))
    put(sys.modules["connect.herder.fencing"], "fence", lambda _, names, __: running.world.fence(names))
    # They look at the clock a few times a second; the fewer, the more happens in a step.
    put(sys.modules["connect.kafka.group.coordinator"], "_TICK", 0.5)
    put(sys.modules["connect.kafka.clients.callbacks"], "_TICK", 0.5)
    put(sys.modules["connect.kafka.group.membership"], "connected_client", _Coordinator.connected_client)
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(disabled)
        for where, name, value in reversed(undo):
            setattr(where, name, value)
