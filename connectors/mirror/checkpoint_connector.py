"""MirrorCheckpointConnector: finds the groups whose offsets are translated, and distributes them among the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connect import ConnectError, ExactlyOnceSupport, SourceConnector, __version__
from connect.kafka.admin.cluster import ClusterAdmin
from connect.kit import Watch, shared_out
from connectors.mirror.checkpoint_task import MirrorCheckpointTask
from connectors.mirror.clusters import admin, make_internal_topic
from connectors.mirror.filters import NameFilter, TopicFilter
from connectors.mirror.keys import GROUPS, SOURCE, TARGET, MirrorCheckpointOptions
from connectors.mirror.source_connector import FIRST_LOOK_S

_PARTITION = {"group", "topic", "partition"}


class MirrorCheckpointConnector(SourceConnector):
    """Offsets of groups of another cluster, translated to this one."""

    settings = MirrorCheckpointOptions.definition()
    version = __version__
    task = MirrorCheckpointTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        options = MirrorCheckpointOptions.parse(config)
        self._watch: Watch[list[str]] | None = None
        if not options.enabled or not (options.emit_checkpoints or options.sync_offsets):
            return
        name, metrics = self.context.name, self.context.metrics
        source = admin(options, SOURCE, name, metrics)
        target = admin(options, TARGET, name, metrics)
        made = False

        def look() -> list[str]:
            nonlocal made
            if not made:
                topic = options.policy.checkpoints_topic(options.source_alias)
                make_internal_topic(target, topic, options.checkpoints_topic_replication)
                made = True
            return found_groups(options, source)

        every = options.refresh_groups_seconds if options.refresh_groups else None
        self._watch = Watch(f"groups of {options.cluster(SOURCE)}", look, every, self.context)
        self._watch.start()
        self.context.exit_stack.callback(self._watch.stop)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if self._watch is None:
            return []
        shares = shared_out(self._watch.found(FIRST_LOOK_S), max_tasks)
        return [{**self.config, GROUPS: ",".join(share)} for share in shares]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for partition, offset in offsets.items():
            if offset is not None and (set(dict(partition)) != _PARTITION or dict(offset) != {"offset": 0}):
                raise ConnectError(
                    'Checkpoints have the source partition {"group": "g", "topic": "A.t", "partition": 0} and the'
                    ' offset {"offset": 0}.'
                )
        return True


def found_groups(options: MirrorCheckpointOptions, source: ClusterAdmin) -> list[str]:
    """The selected groups that have committed offsets of a copied topic."""
    wanted, copied = NameFilter(options.groups, options.groups_excluded), TopicFilter(options)
    return [
        group
        for group in source.groups()
        if wanted(group) and any(copied(partition.topic) for partition in source.committed(group))
    ]
