"""MirrorSourceConnector: finds the topics, makes their copies, and shares out the partitions among the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect import ConfigError, ExactlyOnceSupport, SourceConnector, TopicPartition, __version__
from connect.kit import Chore, Watch, shared_out
from connect.settings import ConfigValue
from connectors.mirror import positions
from connectors.mirror.clusters import admin, make_internal_topic, offset_syncs, reads_committed
from connectors.mirror.keys import PARTITIONS, SOURCE, SOURCE_SETTINGS, TARGET, check_source
from connectors.mirror.policy import policy_of
from connectors.mirror.source_task import MirrorSourceTask
from connectors.mirror.topics import TopicSync

#: How long the first look at the clusters may take before it is said that it failed.
FIRST_LOOK_S: Final = 10.0


class MirrorSourceConnector(SourceConnector):
    """Topics of another cluster into this one."""

    settings = SOURCE_SETTINGS
    version = __version__
    task = MirrorSourceTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._parsed = parsed = self.settings.parse(config)
        check_source(parsed, config)
        self._watch: Watch[list[TopicPartition]] | None = None
        if not parsed["enabled"]:
            return
        policy = policy_of(parsed)
        name, metrics = self.context.name, self.context.metrics
        source = admin(config, parsed, SOURCE, name, metrics)
        target = admin(config, parsed, TARGET, name, metrics)
        sync = TopicSync(parsed, policy, source, target)
        made = not parsed["emit.offset-syncs.enabled"]

        def look() -> list[TopicPartition]:
            nonlocal made
            if not made:
                side, topic = offset_syncs(parsed, policy)
                cluster = source if side == SOURCE else target
                make_internal_topic(cluster, topic, parsed["offset-syncs.topic.replication.factor"])
                made = True
            return sync.partitions()

        chores = [
            Chore(run, parsed[f"{what}.interval.seconds"])
            for what, run in (("sync.topic.configs", sync.sync_settings), ("sync.topic.acls", sync.sync_acls))
            if parsed[f"{what}.enabled"]
        ]
        every = parsed["refresh.topics.interval.seconds"] if parsed["refresh.topics.enabled"] else None
        self._watch = Watch(f"partitions of {parsed['source.cluster.alias']}", look, every, self.context, chores=chores)
        self._watch.start()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if self._watch is None:
            return []
        shares = shared_out(self._watch.found(FIRST_LOOK_S), max_tasks)
        return [{**self.config, PARTITIONS: positions.written(share)} for share in shares]

    def stop(self) -> None:
        if getattr(self, "_watch", None) is not None:
            assert self._watch is not None
            self._watch.stop()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config)
        found = {value.name: value for value in values}
        if not any(value.errors for value in values):
            try:
                check_source(self.settings.parse(config), config)
            except ConfigError as error:
                found[error.key].errors.append(error.message)
        return values

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        # What a consumer of uncommitted records copies may be aborted later.
        return ExactlyOnceSupport.SUPPORTED if reads_committed(config) else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        alias = self.settings.parse(config)["source.cluster.alias"]
        for partition, offset in offsets.items():
            positions.check(dict(partition), offset, alias)
        return True
