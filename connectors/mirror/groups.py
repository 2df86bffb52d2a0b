"""Positions of the source's groups at the target: checkpoints, and offsets that are committed there for idle groups."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from connect import TopicPartition
from connect.kafka.admin.cluster import ClusterAdmin, Committed, RefusedError
from connectors.mirror.notes import Checkpoint
from connectors.mirror.syncs import SyncStore

log = logging.getLogger(__name__)

#: What a broker says when a group got a member meanwhile.
_IN_USE = ("UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP", "REBALANCE_IN_PROGRESS")
#: And when a copy was deleted meanwhile.
_GONE = ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID")
#: And of what concerns one group: this user may not do that with it, or with one of its topics, or it is of a kind that
#: has no offsets.
_OF_ONE = ("GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "GROUP_ID_NOT_FOUND", "INVALID_GROUP_ID")


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

        A checkpoint only goes back when the group itself did, for translations of one offset may become coarser in
        time; or when it lies behind all that is known of the copy, which was made anew then.
        """
        found = []
        for partition, (upstream, metadata) in sorted(committed.items()):
            downstream = self._syncs.translate(partition, upstream) if self._wanted(partition.topic) else None
            if downstream is None:
                continue
            there = TopicPartition(self._remote(partition.topic), partition.partition)
            last = self.of(group).get(there)
            if (
                last is not None
                and upstream >= last.upstream
                and downstream <= last.downstream <= self._syncs.furthest(partition)
            ):
                continue
            found.append(Checkpoint(group, there, upstream, downstream, metadata))
        return found


class Refusals:
    """What single groups are refused: that costs no other group. Each is logged once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def met(self, error: RefusedError) -> None:
        """A request for one group was refused. Raises the error if it concerns others."""
        if error.code not in _OF_ONE:
            raise error
        if str(error) not in self._told:
            self._told.add(str(error))
            log.warning("%s The group is left out.", error)


def commit_for_idle(
    groups: Iterable[str], checkpoints: Checkpoints, target: ClusterAdmin, refusals: Refusals
) -> dict[str, int]:
    """Commit at the target for groups without members there, only forward. Returns the partitions of each.

    Raises what `ClusterAdmin` raises, except for groups that became active meanwhile or are refused, and copies that
    are gone.
    """
    ahead: dict[str, dict[TopicPartition, Checkpoint]] = {}
    for group in groups:
        if not checkpoints.of(group):
            continue
        try:
            # Brokers call a group of the consumer protocol (KIP-848) dead here: it may have offsets.
            there = target.committed(group) if target.group_states([group])[group] in ("EMPTY", "DEAD") else None
        except RefusedError as error:
            refusals.met(error)
            continue
        if there is not None:
            ahead[group] = {
                partition: checkpoint
                for partition, checkpoint in checkpoints.of(group).items()
                if partition not in there or there[partition][0] < checkpoint.downstream
            }
    # A checkpoint outlives its copy: that may be deleted by now, or have been made anew and have fewer records.
    ends = target.ends({partition for newest in ahead.values() for partition in newest})
    done = {}
    for group, newest in ahead.items():
        offsets = {
            partition: Committed(checkpoint.downstream, checkpoint.metadata)
            for partition, checkpoint in newest.items()
            if checkpoint.downstream <= ends.get(partition, -1)
        }
        if offsets and _commit(group, offsets, target, refusals):
            done[group] = len(offsets)
    return done


def _commit(group: str, offsets: Mapping[TopicPartition, Committed], target: ClusterAdmin, refusals: Refusals) -> bool:
    """Commit at the target, unless the group has got members, or a copy was deleted, just now, or it is refused."""
    try:
        target.commit(group, offsets)
    except RefusedError as error:
        if error.code in _IN_USE:
            log.info("%s: group %s has members again, its offsets are its own", target.name, group)
        elif error.code in _GONE:
            log.info("%s", error)
        else:
            refusals.met(error)
        return False
    places = ", ".join(f"{partition}:{at.offset}" for partition, at in offsets.items())
    log.info("%s: group %s goes on at %s", target.name, group, places)
    return True
