"""What the processes beside a worker run: source tasks that number their records, and connectors that cut them."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
from confluent_kafka import KafkaException

from connect.errors import ConnectError
from connect.pipeline.error_kinds import ErrorKind
from connect.pipeline.findings import Validation
from connect.worker import messages
from connect.worker.control import Control, Stopping
from connect.worker.lease import Lease
from tests.simulation.clients import Clients, Producer
from tests.simulation.processes import Channel, Process
from tests.simulation.scheduler import running

OFFSETS: Final = "offsets"
_STORE_EVERY_S: Final = 2.0


def data_topic(connector: str) -> str:
    """Where the records of a connector go."""
    return f"data-{connector}"


def partition_of(connector: str, task: int) -> dict[str, Any]:
    """The source partition of a task."""
    return {"source": connector, "part": task}


class SourceTask:
    """A source task in its process. Its records are numbers, its offset is the next number.

    What is real of a task's process here: the control and the lease. The order of the calls is that of
    `connect.worker.loop` and `connect.delivery`, which have tests of their own.
    """

    def __init__(self, process: Process, spec: bytes, channel: Channel) -> None:
        self.process = process
        self.spec = msgspec.msgpack.decode(spec, type=messages.TaskSpec)
        self.lease = Lease(self.spec.lease_until)
        self.control = Control(channel, self.lease, paused=self.spec.paused)  # type: ignore[arg-type]
        self.partition = partition_of(self.spec.connector, self.spec.task)
        self.key = (self.spec.connector, self.spec.task)
        self.clients = Clients(running.world.broker, process.machine)
        self.producer = Producer(self.clients, self.spec.transactional_id, patience=None)
        self.transactional = self.spec.transactional_id is not None
        self.number = 0  # the next
        self.acknowledged = 0
        self.stored = 0
        self.incarnation = 0
        self.stored_at_start = running.world.invariants.stored(self.key)
        self._keys: list[bytes] = []

    def run(self) -> None:
        """Run until it is to end, or fails."""
        control = self.control
        world = running.world
        control.start()
        try:
            self._start()
            control.send(messages.Running(control.paused, "1"))
            self._loop()
        except Stopping:
            self._finish()
            control.send(messages.Stopped())
        except (ConnectError, KafkaException) as error:
            control.send(messages.Failed(str(error), str(error), ErrorKind.PASSING))
        finally:
            world.invariants.task_ended(self)
        self.process.dies(0)

    def _start(self) -> None:
        if self.transactional:
            self.producer.init_transactions(30.0)
            self.control.ask_to_begin()
        [offset] = self.control.ask_offsets([self.partition])
        self.number = self.acknowledged = self.stored = 0 if offset is None else int(offset["n"])
        running.world.invariants.task_read(self)

    def _loop(self) -> None:
        control, scheduler = self.control, running.scheduler
        paused = control.paused
        due = scheduler.now + _STORE_EVERY_S
        while True:
            control.await_lease()
            if control.paused != paused:
                paused = control.paused
                if paused and not self.transactional:
                    self._store()
                control.send(messages.Paused(paused))
            running.world.fault_in(self)
            if not paused:
                self._once()
            self.producer.poll(0)
            if not self.transactional and scheduler.now >= due:
                due = scheduler.now + _STORE_EVERY_S
                self._store()
            control.wait(0.4 + scheduler.chance())

    def _once(self) -> None:
        running.world.invariants.write_begins(self)
        for _ in range(2):
            self._produce(self.number)
            self.number += 1
        if self.transactional:
            self._produce_offset(self.number)
            self.producer.commit_transaction(20.0)
            self.stored = self.number

    def _produce(self, number: int) -> None:
        value = json.dumps([self.spec.task, number]).encode()
        topic = data_topic(self.spec.connector)
        self.producer.produce(topic, value, None, -1, lambda error, _: self._acknowledge(number, error))

    def _acknowledge(self, number: int, error: Any) -> None:
        if error is None and not self.transactional:
            self.acknowledged = max(self.acknowledged, number + 1)

    def _produce_offset(self, number: int) -> None:
        if not self._keys:
            [self._keys] = self.control.ask_offset_keys([self.partition])
            if not self.transactional and not self.control.holds_lease():
                raise ConnectError("the lease has ended")
        running.world.invariants.store_begins(self, number)
        for key in self._keys:
            self.producer.produce(OFFSETS, json.dumps({"n": number}).encode(), key)

    def _store(self, within: float = 5.0) -> None:
        """Store what is acknowledged, as far as that comes through."""
        number = self.acknowledged
        if number > self.stored:
            try:
                self._produce_offset(number)
            except ConnectError:
                return  # the worker does not answer: next time
            self.stored = number
            self.producer.flush(within)

    def _finish(self) -> None:
        if not self.transactional:
            self.producer.flush(1.0)
            if self.control.holds_lease():
                self._store(1.0)


class ConnectorHost:
    """The process of connectors: it answers the worker's calls."""

    def __init__(self, process: Process, channel: Channel) -> None:
        self.process = process
        self.channel = channel
        self.configs: dict[str, dict[str, str]] = {}

    def run(self) -> None:
        """Answer until the worker is gone."""
        scheduler = running.scheduler
        while True:
            try:
                call = self.channel.receive()
            except EOFError:
                self.process.dies(0)
                return
            if not isinstance(call, messages.Call):
                continue
            if scheduler.chance() < 0.3:
                scheduler.park(0.5 * scheduler.chance())
            try:
                answer = messages.Answer(call.question, self._answer(call.connector, call.request))
            except ConnectError as error:
                answer = messages.Answer(call.question, None, str(error), str(error), ErrorKind.PASSING)
            try:
                self.channel.send(answer)
            except BrokenPipeError:
                return

    def _answer(self, connector: str, request: Any) -> Any:
        world = running.world
        match request:
            case messages.StartConnector():
                if running.scheduler.chance() < world.failure_rate:
                    raise ConnectError("it could not be started")
                self.configs[connector] = request.config
                world.invariants.connector_started(self.process, connector, request.config)
                return messages.ConnectorStarted("tests.simulation:Task", "1", "worker", spreads=False)
            case messages.StopConnector():
                self.configs.pop(connector, None)
                world.invariants.connector_stopped(self.process, connector)
                return None
            case messages.CutTasks():
                if connector not in self.configs:
                    raise ConnectError("it does not run here")
                config = self.configs[connector]
                return [{"part": str(number), "version": config["version"]} for number in range(world.tasks_of(config))]
            case messages.Validate():
                return Validation("Source", "source", [], [], [], [])
            case messages.AlterOffsets():
                return messages.CheckedOffsets(checked=True, elsewhere=False)
        raise ConnectError(f"nobody knows {type(request).__name__}")
