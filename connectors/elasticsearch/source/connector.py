"""The connectors: they find the indices, follow what comes and goes, and share shards out among the tasks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from connect import ConfigError, ConnectError, ExactlyOnceSupport, RetriableError, SourceConnector, __version__
from connect.api.connector import ConnectorContext
from connect.settings import ConfigValue
from connectors.elasticsearch.cluster import Cluster, ClusterSettings, failure
from connectors.elasticsearch.cluster.keys import cluster_problems
from connectors.elasticsearch.source import keys, offsets, shards
from connectors.elasticsearch.source.shards import Shard
from connectors.elasticsearch.source.task import ElasticsearchSourceTask, OpenSearchSourceTask

log = logging.getLogger(__name__)

_START_S: Final = 10.0
_STOP_S: Final = 2.0
#: After so many in a row that do not pass by themselves the connector fails.
_REFUSALS: Final = 3


class ElasticsearchSourceConnector(SourceConnector):
    """Documents of Elasticsearch into topics."""

    settings = keys.ELASTICSEARCH_SETTINGS
    needs: ClassVar[Mapping[str, str]] = {"elasticsearch": "connect-runtime[elasticsearch]"}
    version = __version__
    task = ElasticsearchSourceTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        parsed = self.settings.parse(self.config)
        keys.check(parsed)
        self._monitor = IndexMonitor(parsed, self.context)
        self._monitor.start()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        found = self._monitor.shards(_START_S)
        if not found:
            log.warning("No index is there that index.names means, so no task runs. New ones are looked for.")
        return [{**self.config, **shards.written(share)} for share in shards.shared_out(found, max_tasks) if share]

    def stop(self) -> None:
        if hasattr(self, "_monitor"):
            self._monitor.stop()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        named = self.settings.named(config)
        values = self.settings.validate(config)
        found = {value.name: value for value in values}
        parsed = {}
        for setting in self.settings:
            try:
                parsed[setting.name] = setting.value(named)
            except ConfigError:
                continue
        for key, why in cluster_problems(parsed):
            if key in found and not found[key].errors:
                found[key].errors.append(why)
        if len(parsed) == len(found):
            try:
                keys.check(parsed)
            except ConfigError as error:
                found[error.key].errors.append(error.message)
        return values

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], changed: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for frozen, offset in changed.items():
            partition = dict(frozen)
            number = partition.get("shard")
            if set(partition) != {"index", "shard"} or not isinstance(number, int) or isinstance(number, bool):
                raise ConnectError('A source partition of documents reads {"index": "orders", "shard": 0}.')
            if offset is not None and (wrong := offsets.problem(offset)):
                raise ConnectError(f"The offset of {partition} is wrong: {wrong}.")
        return True


class OpenSearchSourceConnector(ElasticsearchSourceConnector):
    """Documents of OpenSearch into topics."""

    settings = keys.OPENSEARCH_SETTINGS
    needs: ClassVar[Mapping[str, str]] = {"opensearchpy": "connect-runtime[opensearch]"}
    task = OpenSearchSourceTask


class IndexMonitor(threading.Thread):
    """Lists the indices again and again, in a thread and with connections of its own.

    Args:
        parsed: the connector's keys.
        context: asked for other tasks when there are other indices, and told when they cannot be listed for good.

    Raises:
        ConnectError: the client's package is missing.
    """

    def __init__(self, parsed: Mapping[str, Any], context: ConnectorContext) -> None:
        super().__init__(name="elasticsearch-source-indices", daemon=True)
        self._names = keys.names(parsed)
        self._interval = parsed["index.poll.interval.ms"] / 1000
        self._connector = context
        chosen = ClusterSettings.of(parsed, connections=1)
        self._cluster = Cluster(chosen)
        self._metrics = chosen.product.lower()
        self._stopped = threading.Event()
        self._listed = threading.Event()
        self._found: list[Shard] | None = None
        self._error: ConnectError | None = None
        self._wanted = False  # somebody went without a list

    def shards(self, seconds: float) -> list[Shard]:
        """What is to be read, as soon as it is known.

        Raises:
            RetriableError: not in time.
            ConnectError: the cluster refuses.
        """
        self._listed.wait(seconds)
        if self._found is not None:
            return self._found
        self._wanted = True
        if self._error is not None:
            raise type(self._error)(str(self._error)) from self._error
        raise RetriableError(f"The indices of {self._cluster.where} were not listed in {seconds:g} s.")

    def run(self) -> None:
        """List indices until the connector stops."""
        refusals = 0
        while not self._stopped.is_set():
            try:
                found = shards.found(self._cluster, self._names)
            except Exception as error:
                kind, passing, sentence = failure(error)
                raised = RetriableError if passing else ConnectError
                self._error = raised(f"The indices of {self._cluster.where} cannot be listed: {sentence}")
                self._error.__cause__ = error
                if not self._stopped.is_set():
                    log.warning("%s", self._error)
                    self._connector.metrics.count(f"{self._metrics}_errors_total", 1, **{"class": kind})
                refusals = 0 if passing else refusals + 1
                if refusals == _REFUSALS:
                    self._connector.raise_error(self._error)
                pause = min(self._interval, 10.0)
            else:
                changed = self._wanted or (self._found is not None and found != self._found)
                self._found, self._error, self._wanted, refusals = found, None, False, 0
                if changed:
                    indices = sorted({shard.index for shard in found})
                    log.info("The indices are others than before: %s.", ", ".join(indices) or "none")
                    self._connector.request_task_reconfiguration()
                pause = self._interval
            self._listed.set()
            self._stopped.wait(pause)
        self._cluster.close()

    def stop(self) -> None:
        """Let the thread end."""
        self._stopped.set()
        if self.is_alive():
            self.join(_STOP_S)
