"""The shards of the indices that are read: which exist, which task reads them, their form in a task's configuration.

A shard is the unit of reading: only within one have sequence numbers an order, and only there does a cursor with them
distinguish documents with equal values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect import RetriableError
from connectors.elasticsearch.cluster import Cluster
from connectors.elasticsearch.cluster.client import quoted

#: A request's line may hold 4096 bytes.
_LINE: Final = 3000
_BACKING: Final = re.compile(r"\.ds-(.+?)(-\d{4}\.\d{2}\.\d{2})?-\d{6}")


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard of one index.

    Attributes:
        index: the name of the index itself, not of an alias or data stream.
        uuid: which index of that name: one that is deleted and made again has another.
        number: from 0.
    """

    index: str
    uuid: str
    number: int

    @property
    def partition(self) -> dict[str, Any]:
        """Its source partition."""
        return {"index": self.index, "shard": self.number}

    def __str__(self) -> str:
        return f"index {self.index}, shard {self.number}"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The progress of a shard.

    Attributes:
        uuid: of the index that has the shard now.
        seq_no: every operation up to this one has been applied in all copies of the shard; -1 for none.
        highest: the highest number that any operation has.
    """

    uuid: str
    seq_no: int
    highest: int


def found(cluster: Cluster, names: Sequence[str]) -> list[Shard]:
    """All shards of these names, in order. Names and patterns without an index are left out."""
    settings: dict[str, Any] = {}
    for group in _groups(names):
        settings |= cluster.request(
            "GET",
            f"/{quoted(','.join(group))}/_settings",
            params={
                "filter_path": "*.settings.index.uuid,*.settings.index.number_of_shards",
                "expand_wildcards": "open",
                "ignore_unavailable": "true",
                "allow_no_indices": "true",
            },
        )
    shards = []
    for index, said in sorted(settings.items()):
        told = said["settings"]["index"]
        shards += [Shard(index, told["uuid"], number) for number in range(int(told["number_of_shards"]))]
    return shards


def checkpoints(cluster: Cluster, indices: Iterable[str]) -> dict[tuple[str, int], Checkpoint]:
    """The checkpoint of each shard of these indices, by index and number. One without a primary is left out."""
    known: dict[tuple[str, int], Checkpoint] = {}
    for group in _groups(sorted(indices)):
        stats = cluster.request(
            "GET",
            f"/{quoted(','.join(group))}/_stats",
            params={
                "level": "shards",
                "filter_path": "indices.*.uuid,indices.*.shards.*.routing.primary,indices.*.shards.*.seq_no",
                "ignore_unavailable": "true",
                "expand_wildcards": "open,hidden",
            },
        )
        for index, told in (stats or {}).get("indices", {}).items():
            for number, copies in told.get("shards", {}).items():
                for copy in copies:
                    if copy["routing"]["primary"] and "seq_no" in copy:
                        said = copy["seq_no"]
                        at = Checkpoint(told["uuid"], int(said["global_checkpoint"]), int(said["max_seq_no"]))
                        known[index, int(number)] = at
    return known


def refresh(cluster: Cluster, index: str) -> None:
    """Make everything that was written visible to searches, in every copy of every shard.

    Raises:
        RetriableError: a copy did not do it, and may be the one that is searched next.
    """
    answer = cluster.request("POST", f"/{quoted(index)}/_refresh", params={"ignore_unavailable": "true"})
    told = answer["_shards"]
    if told["failed"]:
        raise RetriableError(f"Index {index}: {told['failed']} copies of shards were not refreshed.")


def preference(cluster: Cluster, shard: Shard) -> str:
    """The preference by which a search uses one shard alone.

    OpenSearch may copy segments to replicas some time after a refresh (`index.replication.type: SEGMENT`): there the
    primary is used. In Elasticsearch all copies have applied the checkpoint's operations, and refresh on request.
    """
    return f"_shards:{shard.number}|_primary" if cluster.open_search else f"_shards:{shard.number}"


def written(shards: Sequence[Shard]) -> dict[str, str]:
    """In the form of a task's configuration."""
    return {"task.shards": json.dumps([[shard.index, shard.uuid, shard.number] for shard in shards])}


def read(written: str | None) -> list[Shard]:
    """From the value of `task.shards`."""
    return [Shard(*each) for each in json.loads(written or "[]")]


def stream_or_index(index: str) -> str:
    """The data stream of this index, or its own name."""
    backing = _BACKING.fullmatch(index)
    return backing[1] if backing else index


def _groups(names: Sequence[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for name in names:
        if group and len(quoted(",".join([*group, name]))) > _LINE:
            yield group
            group = []
        group.append(name)
    if group:
        yield group
