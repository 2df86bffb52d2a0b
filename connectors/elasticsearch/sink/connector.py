"""The sink connectors: topics into Elasticsearch, topics into OpenSearch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from connect import ConfigError, SinkConnector, __version__
from connect.data.evolution_policy import PASS, WIDEN, EvolutionPolicy
from connect.settings import ConfigValue
from connectors.elasticsearch.cluster import listing
from connectors.elasticsearch.sink.choices import problems
from connectors.elasticsearch.sink.keys import ElasticsearchSinkOptions, OpenSearchSinkOptions, SinkOptions
from connectors.elasticsearch.sink.naming import Naming
from connectors.elasticsearch.sink.task import ElasticsearchSinkTask, OpenSearchSinkTask


class ElasticsearchSinkConnector(SinkConnector):
    """Passes its configuration to the tasks. Connects to nothing."""

    options: ClassVar[type[SinkOptions]] = ElasticsearchSinkOptions
    settings = ElasticsearchSinkOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"elasticsearch": "connect-runtime[elasticsearch]"}
    version = __version__
    task = ElasticsearchSinkTask

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config, problems)
        found = {value.name: value for value in values}
        if not any(value.errors for value in values):
            try:
                options = self.options.parse(config)
                Naming(options)
                _warn_of_evolution(options, found)
            except ConfigError as error:
                if error.key in found:
                    found[error.key].errors.append(error.message)
        return values

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        return listing.pipelines(self.options, config) if key == "pipeline" else listing.names(self.options, config)


class OpenSearchSinkConnector(ElasticsearchSinkConnector):
    """The same for OpenSearch."""

    options = OpenSearchSinkOptions
    settings = OpenSearchSinkOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"opensearchpy": "connect-runtime[opensearch]"}
    task = OpenSearchSinkTask


def _warn_of_evolution(options: SinkOptions, found: Mapping[str, ConfigValue]) -> None:
    """Warn of schema changes that no index can have, and of a policy for mappings that are left to the cluster."""
    if WIDEN in options.policy.allowed:
        found["schema.evolution"].warnings.append(
            "widen cannot be carried out: no field of an index changes its type, and such a record does not fit."
        )
    if options.schema_ignored and options.policy != EvolutionPolicy(mismatch=PASS):
        found["schema.ignore"].warnings.append("leaves mappings to the cluster, so schema.evolution has no effect.")
