"""One pass over one shard, page by page, in a stable view (a point in time)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from connect import ConnectError, RetriableError
from connectors.elasticsearch.cluster import Cluster, failure
from connectors.elasticsearch.source.offsets import Position
from connectors.elasticsearch.source.shards import Shard, preference

_FIRST_PAGE: Final = 50
_NOTHING: Final = msgspec.Raw(b"")


class Hit(msgspec.Struct, gc=False):
    """A document of a search; its source is the text that was indexed."""

    index: str = msgspec.field(name="_index")
    id: str = msgspec.field(name="_id")
    sort: list[Any]
    source: msgspec.Raw = msgspec.field(name="_source", default=_NOTHING)
    seq_no: int | None = msgspec.field(name="_seq_no", default=None)
    primary_term: int | None = msgspec.field(name="_primary_term", default=None)
    version: int | None = msgspec.field(name="_version", default=None)
    routing: str | None = msgspec.field(name="_routing", default=None)


class _Hits(msgspec.Struct):
    hits: list[Hit]


class _Shards(msgspec.Struct):
    total: int
    failed: int
    failures: list[Any] = []


class _Answer(msgspec.Struct):
    timed_out: bool
    hits: _Hits
    shards: _Shards = msgspec.field(name="_shards")
    pit_id: str | None = None


_DECODER: Final = msgspec.json.Decoder(_Answer)


@dataclass(frozen=True, slots=True)
class What:
    """What is read of a shard, the same for all.

    Attributes:
        cursor: the field whose values grow; empty for sequence numbers.
        query: the user's, or None.
        source: which fields, as a search's `_source` has it.
        more: further parts of a search's response.
        most_rows, most_bytes: of a page.
        keep_alive: of a view, in milliseconds.
    """

    cursor: str
    query: Any
    source: Any
    more: Mapping[str, Any]
    most_rows: int
    most_bytes: int
    keep_alive: int

    @property
    def sort(self) -> list[Any]:
        """The order of documents, in which no two are equal."""
        by = [{self.cursor: {"order": "asc", "unmapped_type": "long"}}] if self.cursor else []
        return [*by, {"_seq_no": "asc"}]


@dataclass(slots=True)
class Page:
    """Documents in order.

    Attributes:
        size: bytes of the answer.
        last: whether no more follow.
    """

    shard: Shard
    hits: list[Hit]
    size: int
    last: bool


@dataclass(slots=True)
class Pages:
    """Reads a shard from a position up to a limit. One request at a time, on any thread.

    Attributes:
        shard, position: what is read, and after what.
        limit: a condition on what is read, such as a range that ends; None for none.
        observe: called with each request's kind and seconds.
    """

    cluster: Cluster
    what: What
    shard: Shard
    position: Position
    limit: Mapping[str, Any] | None
    observe: Callable[[str, float], None]
    _view: str | None = None
    _rows: int = field(default=_FIRST_PAGE)

    def next(self) -> Page:
        """The next page. After an error it is read again, in a new view.

        Raises:
            RetriableError: a part of the shard did not answer, or the view was lost.
            Exception: what the client raises.
        """
        try:
            return self._next()
        except Exception:
            self._view = None  # it may be what was lost
            raise

    def close(self) -> None:
        """Close the view. Raises nothing: it expires by itself."""
        view, self._view = self._view, None
        if view is not None:
            try:
                self.cluster.close_point_in_time(view)
            except Exception:  # noqa: S110 - the cluster forgets it when keep_alive is over
                pass

    def _next(self) -> Page:
        if self._view is None:
            began = time.monotonic()
            self._view = self.cluster.open_point_in_time(
                self.shard.index, f"{self.what.keep_alive}ms", preference=preference(self.cluster, self.shard)
            )
            self.observe("open", time.monotonic() - began)
        wanted = min(self._rows, self.what.most_rows)
        began = time.monotonic()
        try:
            whole = self.cluster.answer("POST", "/_search", self._search(wanted, self._view))
        except Exception as error:
            # The view is not there any more; or the index, which opening another one will tell.
            if failure(error).kind == "missing":
                raise RetriableError(f"{self.shard}: the view was lost. Another one is opened.") from error
            raise
        self.observe("search", time.monotonic() - began)
        try:
            answer = _DECODER.decode(whole)
        except msgspec.DecodeError as error:
            raise ConnectError(f"{self.shard}: an answer is not what a search gives: {error}") from error
        if answer.timed_out or answer.shards.failed or answer.shards.total != 1:
            raise RetriableError(f"{self.shard}: a search was answered in part: {answer.shards.failures}.")
        self._view = answer.pit_id or self._view
        hits = answer.hits.hits
        if hits:
            sort = hits[-1].sort
            self.position = Position(sort[1], sort[0]) if self.what.cursor else Position(sort[0])
            # As many as make a page of the size that is wanted, and not many more at once.
            fitting = int(self.what.most_bytes * len(hits) / max(1, len(whole)))
            self._rows = max(1, min(fitting, wanted * 4))
        return Page(self.shard, hits, len(whole), last=len(hits) < wanted)

    def _search(self, size: int, view: str) -> dict[str, Any]:
        conditions: list[Any] = [self.what.query] if self.what.query else []
        if self.limit:
            conditions.append(self.limit)
        if self.what.cursor:
            conditions.append({"exists": {"field": self.what.cursor}})
        search: dict[str, Any] = {
            "pit": {"id": view, "keep_alive": f"{self.what.keep_alive}ms"},
            "size": size,
            "sort": self.what.sort,
            "track_total_hits": False,
            "_source": self.what.source,
            **self.what.more,
        }
        if conditions:
            search["query"] = {"bool": {"filter": conditions}}
        if after := self.position.search_after:
            search["search_after"] = after
        return search


def highest(cluster: Cluster, what: What, shard: Shard) -> Any:
    """The highest value of the cursor in a shard, in its sort form; None where there is none."""
    sort = _first(cluster, what, shard, [{what.cursor: {"order": "desc", "unmapped_type": "long"}}])
    return sort[0] if sort else None


def last(cluster: Cluster, what: What, shard: Shard, after: Position, limits: Sequence[Any]) -> Position | None:
    """The position of the last document behind another position, by the cursor's field; None where there is none.

    Args:
        limits: conditions on it.
    """
    # A position that a user has set cannot be compared with what the cluster sorts by, except by the cluster.
    if not _first(cluster, what, shard, what.sort, limits, after):
        return None
    descending = [{what.cursor: {"order": "desc", "unmapped_type": "long"}}, {"_seq_no": "desc"}]
    sort = _first(cluster, what, shard, descending, limits)
    return Position(sort[1], sort[0]) if sort else None


def _first(
    cluster: Cluster,
    what: What,
    shard: Shard,
    order: Sequence[Any],
    limits: Sequence[Any] = (),
    after: Position | None = None,
) -> list[Any]:
    """What the first document in an order is sorted by; empty where there is none."""
    conditions = [{"exists": {"field": what.cursor}}, *([what.query] if what.query else []), *limits]
    search: dict[str, Any] = {
        "size": 1,
        "_source": False,
        "track_total_hits": False,
        "query": {"bool": {"filter": conditions}},
        "sort": order,
    }
    if after is not None and after.search_after:
        search["search_after"] = after.search_after
    answer = cluster.search(search, index=shard.index, preference=preference(cluster, shard))
    if answer["_shards"]["failed"] or answer["_shards"]["total"] != 1:
        raise RetriableError(f"{shard}: a search was answered in part: {answer['_shards'].get('failures')}.")
    hits: Sequence[Any] = answer["hits"]["hits"]
    return list(hits[0]["sort"]) if hits else []
