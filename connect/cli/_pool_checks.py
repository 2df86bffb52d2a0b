"""What is wrong with the file of a pool's worker beyond its single keys, found before it asks a broker anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from connect.cli._problems import Problems
from connect.cli._worker_files import WorkerFile
from connect.errors import ConfigError, ConnectError
from connect.kafka.client_checks import check_client
from connect.kafka.client_settings import task_java_settings
from connect.kafka.kafka_python_settings import kafka_python_settings
from connect.plugins import CONVERTERS, Plugins

_TOPICS = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")
_UNSYNC = "worker.unsync.backoff.ms"


def check_pool_worker(worker: WorkerFile, problems: Problems) -> None:
    """Find converters and stores that are not there, topics that are one, and keys that contradict each other."""
    for key, message in (*_converters(worker), *_topics(worker), *_protocol(worker), *_client(worker)):
        problems.error(worker.where(key), message, key=key)


def _client(worker: WorkerFile) -> Iterator[tuple[str, str]]:
    """Of the worker's own connections; those of connectors are checked with them."""
    java = task_java_settings("admin", worker.raw, {})
    try:
        check_client(java)
        kafka_python_settings(java)
    except ConfigError as error:
        yield error.key, error.message


def _converters(worker: WorkerFile) -> Iterator[tuple[str, str]]:
    plugins = Plugins.discover(worker.config["plugin.path"] or [])
    for key, kind in CONVERTERS.items():
        name = (worker.config[key] or "").strip()
        try:
            if name:
                plugins.find(kind, name, worker.raw.get(f"{key}.plugin.version"))
        except (ConnectError, ValueError) as error:
            yield key, str(error)


def _topics(worker: WorkerFile) -> Iterator[tuple[str, str]]:
    """Each of the three has partitions and a form of its own."""
    keys = defaultdict(list)
    for key in _TOPICS:
        keys[worker.config[key]].append(key)
    for name, (first, *others) in keys.items():
        for key in others if name else ():
            yield key, f'"{name}" is the topic of {first} already. Give each of the three its own.'


def _protocol(worker: WorkerFile) -> Iterator[tuple[str, str]]:
    if worker.config["connect.protocol"] == "eager" and _UNSYNC in worker.raw:
        message = "is not to be had with connect.protocol=eager: a worker that cannot catch up with the configurations"
        yield _UNSYNC, f"{message} stays in the group, and tries again after worker.sync.timeout.ms. Take the key out."
