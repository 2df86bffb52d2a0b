"""Several ways to do the same with a batch of records, one after another in one process, again and again."""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.bars import bar_of, judge
from bench.document import Rows
from bench.tables import markdown, marked

Way = Callable[[], Any]


def in_turn(
    ways: Mapping[tuple[str, str], Way], rounds: int, records: int, peers: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The rows of a document: microseconds a record. What the machine does meanwhile meets all ways.

    Args:
        ways: by row and side.
        records: how many each does.
        peers: by side, the sides that it is compared with.
    """
    rows = Rows(peers)
    gc.disable()
    try:
        for number in range(rounds):
            for (row, side), way in ways.items():
                began = time.perf_counter()
                way()
                rows.add(row, side, {"us": (time.perf_counter() - began) / records * 1e6}, number)
                gc.collect()
    finally:
        gc.enable()
    return rows.as_json()


def table_of(document: Mapping[str, Any], rows: Mapping[str, str], sides: Mapping[str, str], peer: str) -> str:
    """The document as Markdown: microseconds a record, and what part of the peer's that is."""
    judged = judge(document)
    found_sides = {side for found in document["rows"].values() for side in found}
    sides = {side: title for side, title in sides.items() if side in found_sides}
    lines = [["µs a record", *sides.values()]]
    for row, title in rows.items():
        found = document["rows"].get(row)
        if found is None:
            continue
        cells = []
        for side in sides:
            micros = found.get(side, {}).get("median", {}).get("us")
            ratio = found.get(side, {}).get("ratio", {}).get(peer, {}).get("us", {}).get("median")
            held = bar_of(judged, f"{row}/{side}/ratio/{peer}/us/median")
            bar = f", bar {held.bar}" if held else ""
            behind = "" if ratio is None else f" ({ratio:.2f}{bar})"
            cells.append("" if micros is None else marked(f"{micros:.2f}{behind}", held))
        lines.append([title, *cells])
    return markdown(lines)
