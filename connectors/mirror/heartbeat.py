"""MirrorHeartbeatConnector: heartbeats, which are copied with the topics and show each route that they take."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from connect import ConnectError, ExactlyOnceSupport, SourceConnector, SourceRecord, SourceTask, __version__
from connect.data.schema import BYTES
from connect.kit import Watch
from connectors.mirror.clusters import admin, make_internal_topic
from connectors.mirror.keys import TARGET, MirrorHeartbeatOptions
from connectors.mirror.notes import Heartbeat
from connectors.mirror.policy import HEARTBEATS
from connectors.mirror.source_connector import FIRST_LOOK_S

_WAIT_S: Final = 0.05
_ASK_S: Final = 0.5


class MirrorHeartbeatTask(SourceTask):
    """Returns one record at the interval."""

    settings = MirrorHeartbeatOptions.definition()
    version = __version__

    def start(self, config: Mapping[str, str]) -> None:
        options = MirrorHeartbeatOptions.parse(config)
        self._source = options.source_alias
        self._target = options.target_alias
        self._seconds = options.emit_heartbeats_seconds
        self._due = time.monotonic()

    def poll(self) -> list[SourceRecord] | None:
        wait_until = time.monotonic() + _ASK_S
        while (now := time.monotonic()) < self._due:
            if now >= wait_until or self.context.stopping():
                return None
            time.sleep(min(_WAIT_S, self._due - now))
        self._due = max(self._due + self._seconds, now)
        beat = Heartbeat(self._source, self._target, int(time.time() * 1000))
        self.context.metrics.count("mirror_heartbeats_total", source=self._source)
        return [
            SourceRecord(
                HEARTBEATS,
                beat.value,
                BYTES,
                beat.key,
                BYTES,
                {"sourceClusterAlias": self._source, "targetClusterAlias": self._target},
                {"offset": 0},
                0,
                beat.timestamp,
            )
        ]


class MirrorHeartbeatConnector(SourceConnector):
    """Writes heartbeats into the cluster of its worker."""

    settings = MirrorHeartbeatOptions.definition()
    version = __version__
    task = MirrorHeartbeatTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        options = MirrorHeartbeatOptions.parse(config)
        self._watch: Watch[bool] | None = None
        if not options.enabled or not options.emit_heartbeats:
            return
        target = admin(options, TARGET, self.context.name, self.context.metrics)

        def look() -> bool:
            make_internal_topic(target, HEARTBEATS, options.heartbeats_topic_replication)
            return True

        self._watch = Watch(f"heartbeat topics of {options.cluster(TARGET)}", look, None, self.context)
        self._watch.start()
        self.context.exit_stack.callback(self._watch.stop)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if self._watch is None:
            return []
        self._watch.found(FIRST_LOOK_S)
        return [dict(self.config)]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for partition, offset in offsets.items():
            known = set(dict(partition)) == {"sourceClusterAlias", "targetClusterAlias"}
            if offset is not None and not (known and dict(offset) == {"offset": 0}):
                raise ConnectError(
                    'Heartbeats have the source partition {"sourceClusterAlias": "A", "targetClusterAlias": "B"} and'
                    ' the offset {"offset": 0}.'
                )
        return True
