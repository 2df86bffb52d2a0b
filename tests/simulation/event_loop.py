"""What kafka-python's coordinator, and ours above it, find in the place of its network: a loop, a client."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, Final

from kafka import errors
from kafka.future import Future

from tests.simulation.group import Coordinator
from tests.simulation.locks import Event
from tests.simulation.network import BROKERS, Network, Reply
from tests.simulation.scheduler import Fiber, Machine, running

_REQUEST_S: Final = 40.0
#: What waits for an answer on one connection: request, seconds, its future.
_Lane = deque[tuple[Any, float, Future]]
_VERSION: Final = (3, 9)


class EventLoop:
    """kafka-python's loop: one fiber, which runs calls and coroutines."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._calls: deque[Callable[[], Any]] = deque()
        self._closed = False
        self._coroutines: dict[int, Coroutine[Any, Any, Any]] = {}
        self._fiber: Fiber = running.scheduler.spawn(machine, "membership", self._run)

    def _run(self) -> None:
        scheduler = running.scheduler
        while not self._closed:
            while self._calls:
                self._calls.popleft()()
            if not self._closed:
                scheduler.park()

    def call_soon_threadsafe(self, call: Callable[[], Any]) -> None:
        self._calls.append(call)
        running.scheduler.wake(self._fiber)

    def call_later(self, seconds: float, call: Callable[[], Any]) -> list[Any]:
        return running.scheduler.after(seconds, self.call_soon_threadsafe, call)

    def cancel(self, timer: list[Any]) -> None:
        running.scheduler.cancel(timer)

    def sleep(self, seconds: float) -> Future:
        done = Future()
        self.call_later(seconds, lambda: done.success(None))
        return done

    def start(self, run: Callable[..., Any], *args: Any) -> Future:
        """Run a coroutine, or a function. Returns its future."""
        done = Future()
        self.call_soon_threadsafe(lambda: self._begin(run, args, done))
        return done

    def _begin(self, run: Callable[..., Any], args: tuple[Any, ...], done: Future) -> None:
        try:
            made = run(*args)
        except Exception as error:
            done.failure(error)
            return
        if isinstance(made, Coroutine):
            self._coroutines[id(made)] = made
            self._go_on(made, done)
        else:
            done.success(made)

    def _go_on(self, coroutine: Coroutine[Any, Any, Any], done: Future) -> None:
        try:
            awaited = coroutine.send(None)
        except StopIteration as end:
            del self._coroutines[id(coroutine)]
            done.success(end.value)
        except Exception as error:
            del self._coroutines[id(coroutine)]
            done.failure(error)
        else:
            awaited.add_both(lambda _: self.call_soon_threadsafe(lambda: self._go_on(coroutine, done)))

    def run(self, run: Callable[..., Any], *args: Any) -> Any:
        """Run it, and wait for its end."""
        over = Event()
        done = self.start(run, *args)
        done.add_both(lambda _: over.set())
        over.wait()
        if done.exception is not None:
            raise done.exception
        return done.value

    def abandon(self) -> None:
        """The run is over: end what waits."""
        for coroutine in self._coroutines.values():
            coroutine.close()
        self._coroutines.clear()

    def close(self) -> None:
        """Run nothing more."""
        self._closed = True
        running.scheduler.wake(self._fiber)


class Manager:
    """kafka-python's connections."""

    def __init__(self, net: EventLoop, network: Network, machine: Machine, coordinator: Coordinator) -> None:
        self._net = net
        self._network = network
        self._machine = machine
        self._coordinator = coordinator
        self._open: dict[Any, _Lane] = {}
        self.cluster = SimpleNamespace(
            add_coordinator=lambda found, *_: f"coordinator-{found.node_id}", request_update=self._updated
        )

    @staticmethod
    def _updated() -> Future:
        return Future().success(None)

    def send(self, request: Any, node_id: Any = None, request_timeout_ms: float | None = None) -> Future:
        """A broker reads nothing more from a connection before it has answered what came before."""
        answer = Future()
        timeout = _REQUEST_S if request_timeout_ms is None else request_timeout_ms / 1000
        lane = self._open.setdefault(node_id, deque())
        lane.append((request, timeout, answer))
        if len(lane) == 1:
            self._send(node_id, lane)
        return answer

    def _send(self, node_id: Any, lane: _Lane) -> None:
        request, timeout, answer = lane[0]

        def handle(reply: Reply) -> None:
            self._coordinator.handle_at(node_id, request, reply)

        def answered(value: Any) -> None:
            self._net.call_soon_threadsafe(lambda: taken(value))

        def taken(value: Any) -> None:
            if not answer.is_done:
                lane.popleft()
                if lane:
                    self._send(node_id, lane)
                answer.success(value)

        def failed(how: str) -> None:
            error = errors.RequestTimedOutError if how == "late" else errors.KafkaConnectionError
            self._net.call_soon_threadsafe(lambda: None if answer.is_done else self._breaks(node_id, lane, error()))

        self._network.request(self._machine, BROKERS, handle, answered, failed, timeout)

    def _breaks(self, node_id: Any, lane: _Lane, error: errors.KafkaError) -> None:
        if self._open.get(node_id) is lane:
            del self._open[node_id]
        for _, _, answer in list(lane):
            answer.failure(error)

    async def wait_for(self, future: Future, timeout_ms: float | None) -> Any:
        if timeout_ms is None:
            return await future
        first = Future()
        future.add_both(lambda _: None if first.is_done else first.success(None))
        timer = self._net.call_later(timeout_ms / 1000, lambda: None if first.is_done else first.success(None))
        await first
        self._net.cancel(timer)
        if not future.is_done:
            raise errors.KafkaTimeoutError(f"Timed out after {timeout_ms} ms")
        return await future

    def call_soon(self, run: Callable[..., Any], *args: Any) -> Future:
        return self._net.start(run, *args)

    def close(self, node_id: Any) -> None:
        """Close one connection: what waits for an answer there fails."""
        if (lane := self._open.get(node_id)) is not None:
            self._breaks(node_id, lane, errors.KafkaConnectionError("it was closed"))


class Client:
    """kafka-python's client."""

    def __init__(self, network: Network, machine: Machine, coordinator: Coordinator) -> None:
        self._network = network
        self._host = machine.host.name
        self.loop = EventLoop(machine)
        self._manager = Manager(self.loop, network, machine, coordinator)

    def _refused(self) -> bool:
        return self._network.refuses(self._host, BROKERS)

    def is_disconnected(self, _: Any) -> bool:
        return self._refused()

    def connection_delay(self, _: Any) -> float:
        return 0.1 if self._refused() else 0.0

    def connected(self, _: Any) -> bool:
        return not self._refused()

    def maybe_connect(self, _: Any) -> None:
        pass

    def least_loaded_node(self) -> int:
        return 0

    def get_broker_version(self) -> tuple[int, int]:
        return _VERSION

    def close(self) -> None:
        self.loop.close()
