"""A worker of a pool from start to end: its file checked, its topics read, its group joined, its REST API served."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial

from connect.cli._exit import FAILED, INVALID, OK, UNREACHABLE
from connect.cli._problems import Problems
from connect.cli._rest import Addresses, BackgroundRest, take_addresses
from connect.cli._worker import StateLog, StopSignals, embedded_broker
from connect.cli._worker_files import WorkerFile, read_worker
from connect.errors import ConfigError, ConnectError
from connect.herder.config_recorder import ConfigRecorder, NoRecorder
from connect.herder.group_member import GroupMember
from connect.herder.listeners import advertised
from connect.herder.offset_stores import topic_shape, transactional_leader
from connect.herder.worker import Worker
from connect.herder.worker_herder import WorkerHerder
from connect.kafka.admin.answers import NO_ANSWER, AdminError
from connect.kafka.admin.client import Admin
from connect.kafka.admin.topics import TopicShape
from connect.kafka.clients.checks import check_client
from connect.kafka.clients.errors import NotLetInError, away_from
from connect.kafka.clients.kafka_python_settings import kafka_python_settings
from connect.kafka.clients.settings import task_java_settings
from connect.peers import PeerClient, sign
from connect.peers.tls import renewed_peer_context
from connect.plugins import CONVERTERS, Plugins
from connect.settings.definition import Config
from connect.settings.distributed_keys import HistoryOptions, SigningOptions
from connect.settings.worker_keys import DISTRIBUTED
from connect.storage import Status
from connect.storage.config_history import ConfigHistory
from connect.storage.config_log import TopicConfigLog
from connect.storage.topic_offsets import TopicOffsetStore
from connect.storage.topic_status import TopicStatusStore
from connect.telemetry import logs
from connect.telemetry.outages import Waiter

log = logging.getLogger("connect.cli")

_LOOK_EVERY_S = 1.0


def run_pool_worker(path: str, *, wait: bool = True) -> int:
    """Run until a signal stops it, or the group refuses this worker. Returns the exit code.

    Args:
        wait: for brokers that do not answer yet.
    """
    problems = Problems([path])
    worker = read_worker(path, problems, DISTRIBUTED)
    if worker is None:
        problems.report(sys.stderr)
        return INVALID
    logs.configure(worker.config["log.level"], worker.config["log.format"])
    addresses = take_addresses(worker, problems)
    client = _peer_client(worker, addresses, problems)
    if addresses is None and not problems.errors():
        problems.error(
            worker.where("listeners"), "a worker of a pool needs a REST API: the others ask it.", key="listeners"
        )
    check_pool_worker(worker, problems)
    if problems.errors():
        problems.report(sys.stderr)
        return INVALID
    for warning in problems.warnings():
        log.warning("%s", warning)
    assert addresses is not None
    raw = {**worker.raw, "listeners": addresses.urls, **embedded_broker(worker.config)}
    stop = StopSignals()
    try:
        return _run(worker, raw, addresses, client, stop, wait=wait)
    except NotLetInError as error:
        log.error("%s: %s", worker.where(error.key), error)
    except AdminError as error:
        if error.code != NO_ANSWER:
            raise
        log.error("%s: %s.", worker.where("bootstrap.servers"), error.words)
    return UNREACHABLE


def _brokers_answer(raw: Mapping[str, str], stop: StopSignals, waiting: Callable[[], None], *, wait: bool) -> bool:
    """Whether the brokers answer, which may start later than this worker. False when it is stopped meanwhile.

    Args:
        waiting: called once when none answers, and one is waited for.

    Raises:
        NotLetInError: they refuse the login.
        AdminError: none answers, and waiting is off.
    """
    waiter = Waiter("the start")
    with closing(Admin(task_java_settings("admin", raw, {}), "connect-start")) as admin:
        while True:
            try:
                admin.cluster_id()
            except AdminError as error:
                if error.code != NO_ANSWER or not wait:
                    raise
                waiter.waits(f"{error.words}.", what=away_from(raw["bootstrap.servers"]))
                waiting()
            else:
                waiter.goes_on()
                return True
            if stop.wait(_LOOK_EVERY_S):
                return False


def _run(
    worker: WorkerFile, raw: dict[str, str], addresses: Addresses, client: PeerClient, stop: StopSignals, *, wait: bool
) -> int:
    refused = threading.Event()
    herder = _herder(worker, raw, client, refused)
    rest = BackgroundRest(addresses, raw, herder, refused.set)
    stop_herder: Callable[[], None] = lambda: None  # noqa: E731 - as long as it was not started
    try:
        if not _brokers_answer(raw, stop, rest.start, wait=wait):
            return OK
        stop_herder = herder.stop
        herder.start()
        herder.worker.statuses.listen(partial(_log_ours, herder.worker.id, StateLog()))
        rest.start()
        while not stop.wait(_LOOK_EVERY_S) and not refused.is_set():
            pass
        log.info("stopping; a second signal ends everything at once")
        began = time.monotonic()
    finally:
        rest.stop(stop_herder)
    log.info("stopped in %.2f s", time.monotonic() - began)
    return FAILED if refused.is_set() else OK


def _peer_client(worker: WorkerFile, addresses: Addresses | None, problems: Problems) -> PeerClient:
    if addresses is not None and "https:" in addresses.urls:
        try:
            return PeerClient(renewed_peer_context(worker.raw).current)
        except ConfigError as error:
            problems.error(worker.where(error.key), error.message, key=error.key)
    return PeerClient()


def _log_ours(worker_id: str, states: StateLog, status: Status) -> None:
    """Log a state, unless another worker published it."""
    if status.worker_id == worker_id:
        states.take(status)


def _herder(worker: WorkerFile, raw: dict[str, str], client: PeerClient, refused: threading.Event) -> WorkerHerder:
    config = worker.config

    def gone(error: ConnectError) -> None:
        log.error("%s", error)
        refused.set()

    # Kafka Connect's name for it: a Java worker that takes over fences us, and we it.
    leader = f"connect-cluster-{config['group.id']}" if transactional_leader(config) else None
    shape = topic_shape(raw, config, "config.storage.", 1, 1)
    configs = TopicConfigLog(config["config.storage.topic"], raw, shape, leader)
    offsets = TopicOffsetStore(config["offset.storage.topic"], raw, topic_shape(raw, config, "offset.storage."))
    statuses = TopicStatusStore(config["status.storage.topic"], raw, topic_shape(raw, config, "status.storage."))
    member = GroupMember(raw, config, f"{advertised(raw)}/", configs, client, gone)
    return WorkerHerder(
        Worker(raw, config, worker.resolver, offsets, statuses, member), configs, member, _recorder(raw, config, shape)
    )


def _recorder(raw: Mapping[str, str], config: Config, shape: TopicShape) -> NoRecorder:
    options = HistoryOptions.parse(config)
    if options.versions == 0:
        return NoRecorder()
    topic = options.topic_beside(config["config.storage.topic"])
    return ConfigRecorder(ConfigHistory(topic, raw, shape, options.versions))


TOPICS = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")
_UNSYNC = "worker.unsync.backoff.ms"


def check_pool_worker(worker: WorkerFile, problems: Problems) -> None:
    """Find missing converters and stores, topics that are the same, and wrong or contradictory keys."""
    checks = (converters, _topics, _protocol, _signing, own_client)
    for key, message in (found for check in checks for found in check(worker)):
        problems.error(worker.where(key), message, key=key)


def own_client(worker: WorkerFile) -> Iterator[tuple[str, str]]:
    """The worker's own clients; those of connectors are checked with them."""
    java = task_java_settings("admin", worker.raw, {})
    try:
        check_client(java)
        kafka_python_settings(java)
    except ConfigError as error:
        yield error.key, error.message


def converters(worker: WorkerFile) -> Iterator[tuple[str, str]]:
    """The worker's missing converters."""
    plugins = Plugins.discover(worker.config["plugin.path"] or [])
    for key, kind in CONVERTERS.items():
        name = (worker.config[key] or "").strip()
        try:
            if name:
                plugins.find(kind, name, worker.raw.get(f"{key}.plugin.version"))
        except (ConnectError, ValueError) as error:
            yield key, str(error)


def _topics(worker: WorkerFile) -> Iterator[tuple[str, str]]:
    """The three topics, and that of the history, have different names."""
    keys = defaultdict(list)
    for key in TOPICS:
        keys[worker.config[key]].append(key)
    history = HistoryOptions.parse(worker.config)
    if history.versions and (history.topic or worker.config["config.storage.topic"]):
        keys[history.topic_beside(worker.config["config.storage.topic"])].append("config.history.topic")
    for name, (first, *others) in keys.items():
        for key in others if name else ():
            yield key, f'"{name}" is the topic of {first} already. Give each its own.'


def _protocol(worker: WorkerFile) -> Iterator[tuple[str, str]]:
    if worker.config["connect.protocol"] == "eager" and _UNSYNC in worker.raw:
        message = "is not available with connect.protocol=eager: a worker that cannot catch up with the configurations"
        yield _UNSYNC, f"{message} stays in the group, and tries again after worker.sync.timeout.ms. Remove the key."


def _signing(worker: WorkerFile) -> Iterator[tuple[str, str]]:
    """Algorithms that are not known, or with which workers would refuse each other's requests, again and again."""
    options, key = SigningOptions.parse(worker.config), "inter.worker.verification.algorithms"
    for where, names in (
        ("inter.worker.signature.algorithm", [options.algorithm]),
        (key, options.verified_algorithms),
    ):
        for name in names:
            try:
                sign(b"", b"", name)
            except ConfigError as error:
                yield where, error.message
    if options.algorithm.lower() not in map(str.lower, options.verified_algorithms):
        yield key, f"lacks {options.algorithm}, by which the worker signs (inter.worker.signature.algorithm). Add it."
