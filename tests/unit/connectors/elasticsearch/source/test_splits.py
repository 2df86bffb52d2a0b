"""Shards are cut into splits without a gap, and a part ends at its last document."""

import json
from itertools import pairwise

import msgspec
import pytest

from connectors.elasticsearch.source import splits
from connectors.elasticsearch.source.following import Followed, Limits
from connectors.elasticsearch.source.offsets import BEHIND_ALL, Position
from connectors.elasticsearch.source.pages import Hit, Page
from connectors.elasticsearch.source.shards import Checkpoint, Shard
from connectors.elasticsearch.source.splits import Part


def _part(number: int, after: int, end: int) -> Part:
    return Part(Shard("orders", "u", number), Position(after), Position(end), None)


@pytest.mark.parametrize("most", [1, 2, 3, 7, 100])
def test_operations_are_cut_without_a_gap(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(splits, "_LEAST", 10)
    given = [_part(0, -1, 2), _part(1, 99, 612), _part(2, 5, 6), _part(3, 0, 100)]
    shares = splits.by_number(given, most)
    assert 1 <= len(shares) <= most
    sizes = [sum(part.end.seq_no - part.after.seq_no for part in share) for share in shares]
    assert max(sizes) <= max(10, -(-617 // most))
    for whole in given:
        mine = [part for share in shares for part in share if part.shard == whole.shard]
        assert (mine[0].after, mine[-1].end) == (whole.after, whole.end)
        assert all(one.end == other.after for one, other in pairwise(mine))
        assert all(part.limit == {"range": {"_seq_no": {"lte": part.end.seq_no}}} for part in mine)


def test_little_is_one_split() -> None:
    assert len(splits.by_number([_part(0, -1, 4000), _part(1, -1, 5000)], 8)) == 1


def test_shards_are_dealt_out_whole() -> None:
    given = [_part(number, -1, 5) for number in range(5)]
    assert len(splits.by_shard(given, 2)) == 2
    assert len(splits.by_shard(given, 9)) == 5
    assert sorted(part.shard.number for share in splits.by_shard(given, 2) for part in share) == list(range(5))


def test_a_split_is_json_and_back() -> None:
    part = Part(Shard("orders", "u", 1), Position(BEHIND_ALL, "2026"), Position(3, 1.5), {"range": {"at": {"lte": 1}}})
    assert splits.parts(json.loads(json.dumps(splits.split([part, _part(0, -1, 4)])))) == [part, _part(0, -1, 4)]


def test_a_page_is_cut_behind_the_last_document() -> None:
    hits = [Hit(index="orders", id=str(at), sort=[at // 2, at], source=msgspec.Raw(b"{}")) for at in range(10)]
    page = Page(Shard("orders", "u", 0), hits, 100, last=False)
    part = Part(page.shard, Position(), Position(6, 3), None)
    assert [hit.id for hit in part.within(page).hits] == [str(at) for at in range(7)]
    assert part.within(page).last
    assert not Part(page.shard, Position(), Position(9, 4), None).within(page).last


def test_what_elasticsearch_adds_to_an_order_is_left_out() -> None:
    hit = Hit(index="orders", id="a", sort=[9, 4294967305], source=msgspec.Raw(b"{}"))
    page = Page(Shard("orders", "u", 0), [hit], 100, last=True)
    assert _part(0, -1, 9).within(page).hits == [hit]


def test_without_refresh_only_old_operations_are_settled() -> None:
    now = [0.0]
    limits = Limits("at", 5.0, False, lambda _: "date", lambda _: 1, lambda: now[0])
    followed = Followed(Shard("orders", "u", 0), Position())
    assert limits.settled(followed, Checkpoint("u", 7, 7)) is None
    now[0] = 5.0
    assert limits.settled(followed, Checkpoint("u", 9, 9)) == 7
    limits.refresh = True
    assert limits.settled(followed, Checkpoint("u", 9, 9)) == 9
