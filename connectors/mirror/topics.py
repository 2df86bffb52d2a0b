"""Keeps the topics of the target like the source's: existence, partitions, settings and ACLs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from connect import TopicPartition
from connect.kafka.admin.cluster import ClusterAdmin, RefusedError, TopicSetting
from connectors.mirror.filters import NameFilter, TopicFilter
from connectors.mirror.keys import SOURCE, MirrorSourceOptions

log = logging.getLogger(__name__)

#: What would befall every topic: the connector fails with it. Else the one topic is left out, and said so.
_FOR_ALL: Final = ("INVALID_REPLICATION_FACTOR", "CLUSTER_AUTHORIZATION_FAILED")


class TopicSync:
    """For one thread at a time. All methods raise what `ClusterAdmin` raises.

    Args:
        options: the connector's keys.
        source, target: the two clusters.
    """

    def __init__(self, options: MirrorSourceOptions, source: ClusterAdmin, target: ClusterAdmin) -> None:
        self._alias = options.source_alias
        self._wanted = TopicFilter(options)
        self._setting_wanted = NameFilter([".*"], options.properties_excluded)
        self._with_defaults = options.defaults_from == SOURCE
        self._replication = options.replication
        self._policy = options.policy
        self._source = source
        self._target = target
        self._topics: list[str] = []
        self._said: dict[str, str] = {}
        self._has_acls = True

    def partitions(self) -> list[TopicPartition]:
        """The partitions to copy, each of which exists at the target: missing ones are created.

        Where the target refuses that, they are left out, and the log says so.
        """
        wanted = {topic: n for topic, n in sorted(self._source.topics().items()) if self._wanted(topic) and n}
        there = self._target.topics()
        missing = [topic for topic in wanted if self._remote(topic) not in there]
        originals = self._source.topic_settings(missing)
        counts: dict[str, int] = {}
        for topic, partitions in wanted.items():
            remote = self._remote(topic)
            counts[topic] = partitions
            try:
                if remote not in there:
                    settings = self._chosen(originals.get(topic, {}))
                    if self._target.make_topic(remote, partitions, self._replication, settings):
                        log.info("%s: made topic %s with %d partitions", self._target.name, remote, partitions)
                elif there[remote] < partitions:
                    self._target.grow_topic(remote, partitions)
                    log.info("%s: topic %s has %d partitions now", self._target.name, remote, partitions)
            except RefusedError as error:
                if error.code in _FOR_ALL:
                    raise
                counts[topic] = there.get(remote, 0)
                left_out = (
                    f"Partitions of {topic} from {there[remote]} on are" if remote in there else f"Topic {topic} is"
                )
                self._say(topic, f"{error} {left_out} not copied.")
                continue
            self._said.pop(topic, None)
        self._topics = [topic for topic, partitions in counts.items() if partitions]
        return [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]

    def sync_settings(self) -> int:
        """Copy the topics' settings. Returns the number of changed topics."""
        remotes = {topic: self._remote(topic) for topic in self._topics}
        originals = self._source.topic_settings(remotes)
        copies = self._target.topic_settings(remotes.values())
        changed = 0
        for topic, remote in remotes.items():
            if topic not in originals or remote not in copies:
                continue
            wanted, found = self._chosen(originals[topic]), copies[remote]
            change: dict[str, str | None] = {
                name: value for name, value in wanted.items() if name not in found or found[name].value != value
            }
            change |= {
                name: None
                for name, setting in found.items()
                if setting.is_own
                and name not in wanted
                and not setting.is_fixed
                and self._setting_wanted(name)
                # As with MirrorMaker 2 the target decides on what the source does not know, and on what stands in the
                # files of its brokers.
                and name in originals[topic]
                and not originals[topic][name].is_of_file
            }
            if not change:
                continue
            try:
                self._target.change_topic_settings(remote, change)
            except RefusedError as error:
                self._say(f"settings of {topic}", str(error))
                continue
            changed += 1
            log.info("%s: topic %s has other settings now: %s", self._target.name, remote, ", ".join(sorted(change)))
        return changed

    def sync_acls(self) -> int:
        """Allow reading of copies to those who may read the originals. Returns the number of created ACLs."""
        if not self._has_acls:
            return 0
        try:
            acls = self._source.topic_acls()
            copies = self._target.topic_acls() if acls else []
        except RefusedError as error:
            if error.code != "SECURITY_DISABLED":
                raise
            self._has_acls = False
            log.info("%s The connector copies no ACLs.", error)
            return 0
        made = 0
        there = set(copies)
        known = set(self._topics)
        for acl in acls:
            allows = acl.permission == "ALLOW"
            if acl.topic not in known or (allows and acl.operation == "WRITE"):
                continue
            # Only the connector writes into copies.
            operation = "READ" if allows and acl.operation == "ALL" else acl.operation
            copy = acl._replace(topic=self._remote(acl.topic), operation=operation)
            if copy not in there:
                self._target.make_topic_acl(copy)
                made += 1
        return made

    def _chosen(self, settings: Mapping[str, TopicSetting]) -> dict[str, str]:
        """Those settings of a topic that are copied."""
        return {
            name: setting.value
            for name, setting in settings.items()
            if (not setting.is_default or self._with_defaults)
            and not (setting.is_fixed or setting.is_of_file)
            and setting.value is not None
            and self._setting_wanted(name)
        }

    def _remote(self, topic: str) -> str:
        return self._policy.remote(self._alias, topic)

    def _say(self, what: str, problem: str) -> None:
        if self._said.get(what) != problem:
            self._said[what] = problem
            log.warning("%s", problem)
