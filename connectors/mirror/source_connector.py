"""MirrorSourceConnector: finds the topics, creates their copies, and distributes the partitions among the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect import ConfigError, ExactlyOnceSupport, SourceConnector, TopicPartition, __version__
from connect.kit import Chore, Watch, shared_out
from connect.settings import ConfigValue
from connectors.mirror import positions
from connectors.mirror.clusters import admin, make_internal_topic, reads_committed
from connectors.mirror.keys import PARTITIONS, SOURCE, TARGET, MirrorSourceOptions
from connectors.mirror.source_task import MirrorSourceTask
from connectors.mirror.topics import TopicSync

#: How long the first look at the clusters may take before it is said that it failed.
FIRST_LOOK_S: Final = 10.0


class MirrorSourceConnector(SourceConnector):
    """Topics of another cluster into this one."""

    settings = MirrorSourceOptions.definition()
    version = __version__
    task = MirrorSourceTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        options = MirrorSourceOptions.parse(config)
        options.check()
        self._watch: Watch[list[TopicPartition]] | None = None
        if not options.enabled:
            return
        name, metrics = self.context.name, self.context.metrics
        source = admin(options, SOURCE, name, metrics)
        target = admin(options, TARGET, name, metrics)
        sync = TopicSync(options, source, target)
        made = not options.emit_syncs

        def look() -> list[TopicPartition]:
            nonlocal made
            if not made:
                cluster = source if options.syncs_location == SOURCE else target
                make_internal_topic(cluster, options.offset_syncs_topic, options.syncs_topic_replication)
                made = True
            return sync.partitions()

        chores = []
        if options.sync_configs:
            chores.append(Chore(sync.sync_settings, options.sync_configs_seconds))
        if options.sync_acls:
            chores.append(Chore(sync.sync_acls, options.sync_acls_seconds))
        every = options.refresh_topics_seconds if options.refresh_topics else None
        self._watch = Watch(f"partitions of {options.cluster(SOURCE)}", look, every, self.context, chores=chores)
        self._watch.start()
        self.context.exit_stack.callback(self._watch.stop)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if self._watch is None:
            return []
        shares = shared_out(self._watch.found(FIRST_LOOK_S), max_tasks)
        return [{**self.config, PARTITIONS: positions.written(share)} for share in shares]

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config)
        found = {value.name: value for value in values}
        if not any(value.errors for value in values):
            try:
                MirrorSourceOptions.parse(config).check()
            except ConfigError as error:
                found[error.key].errors.append(error.message)
        return values

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        # What a consumer of uncommitted records copies may be aborted later.
        return ExactlyOnceSupport.SUPPORTED if reads_committed(config) else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        alias = MirrorSourceOptions.parse(config).source_alias
        for partition, offset in offsets.items():
            positions.check(dict(partition), offset, alias)
        return True
