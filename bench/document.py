"""What a part measured, as JSON: rows, in each row sides, of each side all rounds, their median, the ratio to its peer.

    {"part": "jdbc", "commit": "f6bc987", "date": "2026-11-22", "took_s": 400.0, "machine": {...}, "load_before": 0.1,
     "versions": {...}, "settings": {"rounds": 3, "records": 1000000},
     "rows": {"insert": {
        "java": {"rounds": [{"records": ..., "seconds": ..., "rate": ..., "cpu_s": ..., "pss_mb": ...}, null, ...],
                 "median": {"rate": ...}},
        "ours": {"rounds": [...], "median": {...},
                 "ratio": {"java": {"rate": {"median": 4.1, "least": 4.0, "most": 4.2}}}}}}}

A round that failed is null. A ratio is taken within a round. `changed` is there where the checkout was not the commit
alone. `transcribed` is there where only the medians of a page are known, and says from where they are.

Figures that several parts have: `records` and `seconds` from the first record on, `rate` records a second, `cpu_s`
seconds of CPU of the whole process tree and `cpu_us` microseconds of it a record, `pss_mb` the most memory of the tree,
each shared page divided among those who share it, `start_s` seconds from the start to the first record.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parent / "results"

Round = Mapping[str, float]


class Rows:
    """Collects what is measured, in any order.

    Args:
        peers: by side, the sides that it is compared with.
    """

    def __init__(self, peers: Mapping[str, Sequence[str]]) -> None:
        self._peers = peers
        self._rounds: dict[str, dict[str, dict[int, Round | None]]] = {}

    def add(self, row: str, side: str, figures: Round | None, number: int | None = None) -> None:
        """Take a round of a side, None where it failed; by default the one after its last."""
        rounds = self._rounds.setdefault(row, {}).setdefault(side, {})
        rounds[len(rounds) if number is None else number] = figures

    def as_json(self) -> dict[str, Any]:
        """The rows of a document."""
        return {row: self._row(sides) for row, sides in self._rounds.items()}

    def _row(self, sides: dict[str, dict[int, Round | None]]) -> dict[str, Any]:
        numbers = sorted({number for rounds in sides.values() for number in rounds})
        found: dict[str, Any] = {}
        for side, rounds in sides.items():
            ended = [figures for figures in rounds.values() if figures is not None]
            keys = dict.fromkeys(key for figures in ended for key in figures)
            found[side] = {
                "rounds": [short(rounds.get(number)) for number in numbers],
                "median": short({key: median(each[key] for each in ended if key in each) for key in keys}),
            }
            if ratios := {
                peer: spread for peer in self._peers.get(side, ()) if (spread := _ratios(rounds, sides.get(peer, {})))
            }:
                found[side]["ratio"] = ratios
        return found


def _ratios(ours: Mapping[int, Round | None], theirs: Mapping[int, Round | None]) -> dict[str, dict[str, float]]:
    """Of each figure that both have, ours to theirs within the rounds that both ended."""
    both = [(mine, other) for number, mine in sorted(ours.items()) if mine and (other := theirs.get(number))]
    found: dict[str, dict[str, float]] = {}
    for key in dict.fromkeys(key for mine, _ in both for key in mine):
        each = [mine[key] / other[key] for mine, other in both if key in mine and other.get(key)]
        if each:
            found[key] = short({"median": median(each), "least": min(each), "most": max(each)})
    return found


def short(figures: Round | None) -> Any:
    """The same with five digits of each figure that count, so that a document can be read."""
    if figures is None:
        return None
    return {key: value if isinstance(value, int) else float(f"{value:.5g}") for key, value in figures.items()}


def find(rows: Mapping[str, Any], metric: str) -> Iterator[tuple[str, float]]:
    """What a path through rows leads to: `insert/ours/ratio/java/rate/median`; `*` stands for every name."""
    yield from _find(rows, metric.split("/"), ())


def _find(at: Any, names: Sequence[str], path: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    if not names:
        if isinstance(at, int | float):
            yield "/".join(path), float(at)
        return
    if isinstance(at, Mapping):
        for name in at if names[0] == "*" else [names[0]]:
            if name in at:
                yield from _find(at[name], names[1:], (*path, name))


def value(document: Mapping[str, Any], metric: str) -> float | None:
    """The one figure of a path, None where there is none."""
    return next((found for _, found in find(document["rows"], metric)), None)


def read(part: str, folder: Path = RESULTS) -> dict[str, Any] | None:
    """The document of a part; None where it was never measured."""
    path = folder / f"{part}.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(document: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Keep a document; the one before goes. A line for each round, so that differences can be read."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{document['part']}.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(_text(document) + "\n", encoding="utf-8")
    fresh.replace(path)
    return path


def _text(value: Any, indent: str = "") -> str:
    """JSON, indented down to what fits into a line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(indent) + len(line) <= 118:
        return line
    deeper = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(deeper + _text(each, deeper) for each in value) + f"\n{indent}]"
    lines = (f"{deeper}{json.dumps(key, ensure_ascii=False)}: {_text(each, deeper)}" for key, each in value.items())
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
