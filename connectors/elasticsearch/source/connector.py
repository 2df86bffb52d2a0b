"""The connectors: they find the indices, follow new and deleted ones, and distribute shards among the tasks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from connect import ConfigError, ConnectError, ExactlyOnceSupport, RetriableError, SourceConnector, __version__
from connect.api.engine import WORKER
from connect.kit import Watch, shared_out
from connect.settings import Config, ConfigValue
from connectors.elasticsearch.cluster import Cluster, failure
from connectors.elasticsearch.cluster.keys import cluster_problems
from connectors.elasticsearch.cluster.listing import names
from connectors.elasticsearch.source import offsets, shards
from connectors.elasticsearch.source.keys import ElasticsearchSourceOptions, OpenSearchSourceOptions
from connectors.elasticsearch.source.shards import Shard
from connectors.elasticsearch.source.task import ElasticsearchSourceTask, OpenSearchSourceTask

log = logging.getLogger(__name__)

_START_S: Final = 10.0
#: How long until indices that could not be listed are listed again, at most.
_RETRY_S: Final = 10.0


class ElasticsearchSourceConnector(SourceConnector):
    """Documents of Elasticsearch into topics."""

    options: ClassVar[type[ElasticsearchSourceOptions | OpenSearchSourceOptions]] = ElasticsearchSourceOptions
    settings = ElasticsearchSourceOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"elasticsearch": "connect-runtime[elasticsearch]"}
    version = __version__
    engines = (WORKER, "spark")
    task = ElasticsearchSourceTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        options = self.options.parse(self.config)
        options.check()
        self._names = options.names
        self._cluster = cluster = Cluster(options)
        seconds = options.index_poll_interval
        self._watch = Watch(
            f"indices of {cluster.where}",
            self._shards,
            seconds,
            self.context,
            retry_seconds=min(seconds, _RETRY_S),
            names=lambda found: sorted({shard.index for shard in found}),
            closing=cluster.close,
        )
        self._watch.start()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        found = self._watch.found(_START_S)
        if not found:
            log.warning("No index is there that index.names means, so no task runs. New ones are looked for.")
        return [{**self.config, **shards.written(share)} for share in shared_out(found, max_tasks)]

    def stop(self) -> None:
        self._watch.stop()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        named = self.settings.named(config)
        values = self.settings.validate(config)
        found = {value.name: value for value in values}
        parsed = {each.name: each.value(named) for each in self.settings if not found[each.name].errors}
        for key, why in cluster_problems(parsed):
            if key in found and not found[key].errors:
                found[key].errors.append(why)
        if len(parsed) == len(found):
            try:
                self.options(Config(parsed, named)).check()
            except ConfigError as error:
                found[error.key].errors.append(error.message)
        return values

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        return names(self.options, config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], changed: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for frozen, offset in changed.items():
            partition = dict(frozen)
            if offset is None:
                continue
            number = partition.get("shard")
            if set(partition) != {"index", "shard"} or not isinstance(number, int) or isinstance(number, bool):
                raise ConnectError('A source partition of documents reads {"index": "orders", "shard": 0}.')
            if wrong := offsets.problem(offset):
                raise ConnectError(f"The offset of {partition} is wrong: {wrong}.")
        return True

    def _shards(self) -> list[Shard]:
        """The shards to read now."""
        try:
            return shards.found(self._cluster, self._names)
        except Exception as error:  # clients raise anything
            kind, passing, sentence = failure(error)
            metric = f"{self._cluster.settings.product.lower()}_errors_total"
            self.context.metrics.count(metric, 1, **{"class": kind})
            said = f"The indices of {self._cluster.where} cannot be listed: {sentence}"
            raise (RetriableError(said, waits_for=self._cluster.where) if passing else ConnectError(said)) from error


class OpenSearchSourceConnector(ElasticsearchSourceConnector):
    """Documents of OpenSearch into topics."""

    options = OpenSearchSourceOptions
    settings = OpenSearchSourceOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"opensearchpy": "connect-runtime[opensearch]"}
    task = OpenSearchSourceTask
