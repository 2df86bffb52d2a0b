"""The keys of lineage by OpenLineage, with Debezium's names, for every connector.

They are not in Kafka: a Java worker ignores them, except for Debezium's connectors. The worker's file has the defaults,
a connector's configuration may have other values.

https://debezium.io/documentation/reference/stable/integrations/openlineage.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.settings.options import Options
from connect.settings.setting import Boolean, List, String

_GROUP: Final = "Lineage"


def _pairs(_: str, value: list[str]) -> None:
    if wrong := [item for item in value if "=" not in item]:
        raise ValueError(f'"{wrong[0]}" is not a name and a value. Write team=orders,env=production.')


def _as_pairs(value: list[str]) -> tuple[tuple[str, str], ...]:
    parts = (item.partition("=") for item in value)
    return tuple((name.strip(), given.strip()) for name, _, given in parts)


class LineageOptions(Options):
    """Whether and how a connector's runs are reported.

    Attributes:
        tags, owners: pairs.
    """

    enabled = Boolean(
        "openlineage.integration.enabled",
        group=_GROUP,
        order=1,
        width="SHORT",
        default=False,
        importance="LOW",
        doc="Whether OpenLineage is told when the connector's tasks start, end and fail, and which topics, tables and "
        "files they read and write.",
    )
    config_file = String(
        "openlineage.integration.config.file.path",
        group=_GROUP,
        order=2,
        width="LONG",
        default="",
        importance="LOW",
        doc="The file that says where to, as OpenLineage's clients read it (transport: type, url). By default they "
        "look for openlineage.yml in the worker's folder, and at the environment (OPENLINEAGE_URL).",
    )
    namespace = String(
        "openlineage.integration.job.namespace",
        group=_GROUP,
        order=3,
        default="",
        importance="LOW",
        doc="The namespace of the connector's jobs, which are called connector.task. By default the worker's group.id, "
        "and kafka-connect for a standalone worker.",
    )
    description = String(
        "openlineage.integration.job.description",
        group=_GROUP,
        order=4,
        width="LONG",
        default="",
        importance="LOW",
        doc="A description of these jobs.",
    )
    tags = List(
        "openlineage.integration.tags",
        group=_GROUP,
        order=5,
        width="LONG",
        default=[],
        importance="LOW",
        validator=_pairs,
        convert=_as_pairs,
        doc="Tags of these jobs: team=orders,env=production.",
    )
    owners = List(
        "openlineage.integration.owners",
        group=_GROUP,
        order=6,
        width="LONG",
        default=[],
        importance="LOW",
        validator=_pairs,
        convert=_as_pairs,
        doc="Their owners, each with a role: Ada=maintainer,Grace=analyst.",
    )
    brokers = String(
        "openlineage.integration.dataset.kafka.bootstrap.servers",
        group=_GROUP,
        order=7,
        width="LONG",
        default="",
        importance="LOW",
        doc="The brokers by which topics are named. By default the worker's bootstrap.servers.",
    )


CONNECTOR_LINEAGE: Final = LineageOptions.definition().of_connector()


def lineage_options(worker: Mapping[str, Any], connector: Mapping[str, Any]) -> LineageOptions:
    """The values for a connector: its own, then those of its worker's file. Raises ConfigError."""
    keys = [setting.name for setting in LineageOptions.definition()]
    return LineageOptions.parse({key: connector.get(key) or worker.get(key) for key in keys})
