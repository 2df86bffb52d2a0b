"""Positions of the source's groups at the target: checkpoints, and offsets that are committed there for idle groups."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from connect import TopicPartition
from connect.kafka.admin.cluster import ClusterAdmin, RefusedError
from connectors.mirror.notes import Checkpoint
from connectors.mirror.syncs import SyncStore

log = logging.getLogger(__name__)

#: What a broker says when a group got a member meanwhile.
_IN_USE = ("UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP", "REBALANCE_IN_PROGRESS")


class Checkpoints:
    """The newest checkpoint of each group and partition.

    Args:
        syncs: translates.
        wanted: whether a topic of the source is copied.
        remote: the name of a topic at the target.
    """

    def __init__(self, syncs: SyncStore, wanted: Callable[[str], bool], remote: Callable[[str], str]) -> None:
        self._syncs = syncs
        self._wanted = wanted
        self._remote = remote
        self._newest: dict[str, dict[TopicPartition, Checkpoint]] = {}

    def remember(self, checkpoint: Checkpoint) -> None:
        """Remember a written one."""
        self._newest.setdefault(checkpoint.group, {})[checkpoint.partition] = checkpoint

    def of(self, group: str) -> dict[TopicPartition, Checkpoint]:
        """The newest of a group, by partition of the target."""
        return self._newest.get(group, {})

    def take(self, committed: Iterable[tuple[str, Mapping[TopicPartition, tuple[int, str]]]]) -> list[Checkpoint]:
        """The checkpoints to write now of groups that have committed this, remembered as written.

        Where reading what a group has committed raises, none is.
        """
        found = [checkpoint for group, offsets in committed for checkpoint in self.newer(group, offsets)]
        for checkpoint in found:
            self.remember(checkpoint)
        return found

    def newer(self, group: str, committed: Mapping[TopicPartition, tuple[int, str]]) -> list[Checkpoint]:
        """The checkpoints to write now that a group has committed this at the source.

        A checkpoint only goes back when the group itself did: translations of one offset may become coarser in time.
        """
        found = []
        for partition, (upstream, metadata) in sorted(committed.items()):
            downstream = self._syncs.translate(partition, upstream) if self._wanted(partition.topic) else None
            if downstream is None:
                continue
            there = TopicPartition(self._remote(partition.topic), partition.partition)
            last = self.of(group).get(there)
            if last is not None and upstream >= last.upstream and downstream <= last.downstream:
                continue
            found.append(Checkpoint(group, there, upstream, downstream, metadata))
        return found


def commit_for_idle(groups: Iterable[str], checkpoints: Checkpoints, target: ClusterAdmin) -> dict[str, int]:
    """Commit at the target for groups without members there, only forward. Returns the partitions of each.

    Raises what `ClusterAdmin` raises, except for groups that became active meanwhile.
    """
    asked = [group for group in groups if checkpoints.of(group)]
    states = target.group_states(asked)
    done = {}
    for group in asked:
        if states[group] not in ("EMPTY", "DEAD"):
            continue
        there = target.committed(group) if states[group] == "EMPTY" else {}
        ahead = {
            partition: checkpoint.downstream
            for partition, checkpoint in checkpoints.of(group).items()
            if partition not in there or there[partition][0] < checkpoint.downstream
        }
        if not ahead:
            continue
        try:
            target.commit(group, ahead)
        except RefusedError as error:
            if error.code not in _IN_USE:
                raise
            log.info("%s: group %s has members again, its offsets are its own", target.name, group)
            continue
        done[group] = len(ahead)
        log.info("%s: group %s goes on at %s", target.name, group, ", ".join(f"{p}:{o}" for p, o in ahead.items()))
    return done
