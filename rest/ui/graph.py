"""The way of records through a cluster: sources, their topics, and the sinks that read them, as a drawing in SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rest.ui.rendering import count
from rest.ui.views import Row

_ROW: Final = 30
_TOP: Final = 24
#: Where the columns of sources, topics and sinks begin, and how wide they are.
_COLUMNS: Final = (0, 380, 760)
_WIDTH: Final = 240
#: Characters of a name; the whole of it is in its title.
_LONGEST: Final = 30


@dataclass(frozen=True, slots=True)
class Node:
    """A connector, or a topic.

    Attributes:
        name: the whole of it.
        text: as much of it as fits.
        x, y: its left edge and its middle.
        connector: whether it is one; topics have no page.
        state: of a connector.
    """

    name: str
    text: str
    x: int
    y: int
    connector: bool
    state: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A connector writes to a topic, or reads from it.

    Attributes:
        path: of SVG.
        label: its rate, where all records of the connector take this way and the rate is known.
        x, y: of the label.
        state: of the connector.
    """

    path: str
    label: str
    x: int
    y: int
    state: str


@dataclass(frozen=True, slots=True)
class Graph:
    """The drawing, and the same in words: for each topic who writes to it and who reads it."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    width: int
    height: int
    topics: Sequence[tuple[str, Sequence[str], Sequence[str]]]


def graph(connectors: Sequence[Row], topics: Mapping[str, Iterable[str]]) -> Graph:
    """Draw these connectors with the topics that they use, in an order in which few lines cross."""
    used = {one.name: sorted(set(topics.get(one.name, ()))) for one in connectors}
    sources = [one for one in connectors if one.type == "source"]
    sinks = [one for one in connectors if one.type == "sink"]
    writers, readers = _by_topic(sources, used), _by_topic(sinks, used)
    rank = {one.name: number for number, one in enumerate(sources)}
    ordered = sorted(
        {*writers, *readers},
        key=lambda topic: (_middle([rank[name] for name in writers.get(topic, ())], len(sources)), topic),
    )
    row = {topic: number for number, topic in enumerate(ordered)}
    sinks.sort(key=lambda one: (_middle([row[topic] for topic in used[one.name]], len(ordered)), one.name))

    nodes = [Node(topic, _short(topic), _COLUMNS[1], _y(number), False) for topic, number in row.items()]
    edges = []
    for column, side in ((0, sources), (2, sinks)):
        for number, one in enumerate(side):
            nodes.append(Node(one.name, _short(one.name), _COLUMNS[column], _y(number), True, one.state))
            edges += [_edge(one, column, _y(number), _y(row[topic]), used[one.name]) for topic in used[one.name]]
    height = _y(max(len(sources), len(sinks), len(ordered), 1) - 1) + _TOP
    words = [(topic, writers.get(topic, ()), readers.get(topic, ())) for topic in sorted(row)]
    return Graph(nodes, edges, _COLUMNS[2] + _WIDTH, height, words)


def _by_topic(connectors: Sequence[Row], used: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in connectors:
        for topic in used[one.name]:
            found.setdefault(topic, []).append(one.name)
    return found


def _edge(one: Row, column: int, connector_y: int, topic_y: int, topics: Sequence[str]) -> Edge:
    if column == 0:
        left, right, begin, end = _COLUMNS[0] + _WIDTH, _COLUMNS[1], connector_y, topic_y
    else:
        left, right, begin, end = _COLUMNS[1] + _WIDTH, _COLUMNS[2], topic_y, connector_y
    middle = (left + right) // 2
    path = f"M{left},{begin}C{middle},{begin} {middle},{end} {right},{end}"
    rate = one.measured.per_second if len(topics) == 1 else None
    return Edge(path, "" if rate is None else f"{count(rate)}/s", middle, (begin + end) // 2 - 4, one.state)


def _middle(numbers: Sequence[int], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _y(number: int) -> int:
    return _TOP + number * _ROW


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
