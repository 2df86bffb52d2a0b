"""Reads PromQL as far as rules and dashboards use it: which series it asks for, and which labels its answer has.

A parser, not a pattern: `by (connector)` around a metric without that label is an error here, as is a label that an
aggregation has already dropped. Prometheus itself says nothing about either, and shows an empty graph.

https://prometheus.io/docs/prometheus/latest/querying/basics/
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<duration>\d+(?:ms|[smhdwy]))
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<name>[A-Za-z_:][A-Za-z0-9_:]*)
    | (?P<sign>==|!=|<=|>=|=~|!~|[-+*/%^<>=(){}\[\],:])
    )""",
    re.VERBOSE,
)
AGGREGATIONS: Final = {"sum", "min", "max", "avg", "count", "topk", "bottomk", "quantile", "group", "stddev"}
FUNCTIONS: Final = {
    "abs", "absent", "changes", "clamp_max", "clamp_min", "delta", "deriv", "histogram_quantile", "increase", "irate",
    "avg_over_time", "max_over_time", "min_over_time", "rate", "resets", "round", "scalar", "sum_over_time", "time",
    "timestamp", "vector",
}  # fmt: skip
#: What takes counters: of anything else the answer is nonsense.
OF_COUNTERS: Final = {"rate", "increase", "irate", "resets"}
#: From what binds least.
OPERATORS: Final = (("or",), ("and", "unless"), ("==", "!=", "<=", ">=", "<", ">"), ("+", "-"), ("*", "/", "%"), ("^",))


class Wrong(Exception):
    """What is wrong with an expression."""


@dataclass(frozen=True)
class Selector:
    """Series that an expression asks for.

    Attributes:
        metric: their name.
        matchers: label, operator and value of each.
        within: the functions and aggregations around it, the innermost first.
    """

    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    within: list[str] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Query:
    """An expression.

    Attributes:
        selectors: all series that it asks for.
        labels: those of its answer; None for a number.
    """

    selectors: list[Selector]
    labels: frozenset[str] | None


def parse(text: str, labels_of: Callable[[str], frozenset[str]]) -> Query:
    """Read an expression.

    Args:
        labels_of: the labels that the series of a metric have; raises `Wrong` for a metric that does not exist.

    Raises:
        Wrong: it is no PromQL, or asks for what does not exist.
    """
    parser = _Parser(list(_tokens(text)), labels_of)
    labels = parser.binary(0)
    if parser.next is not None:
        raise Wrong(f'"{parser.next}" stands where an operator or the end should: {text}')
    return Query(parser.selectors, labels)


def _tokens(text: str) -> Iterator[str]:
    at = 0
    text = text.strip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Wrong(f"{text[at : at + 20]!r} is no PromQL, in {text}")
        yield match[0].strip()
        at = match.end()


class _Parser:
    def __init__(self, tokens: list[str], labels_of: Callable[[str], frozenset[str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._labels_of = labels_of
        self._within: list[str] = []
        self.selectors: list[Selector] = []

    @property
    def next(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, *wanted: str) -> str:
        token = self.next
        if token is None or (wanted and token not in wanted):
            raise Wrong(f'"{token}" stands where {" or ".join(wanted) or "more"} should')
        self._at += 1
        return token

    def binary(self, level: int) -> frozenset[str] | None:
        if level == len(OPERATORS):
            return self._unary()
        left = self.binary(level + 1)
        while self.next in OPERATORS[level]:
            operator = self._take()
            if self.next == "bool":
                self._take()
            on = self._matching()
            right = self.binary(level + 1)
            left = self._joined(operator, on, left, right)
        return left

    def _matching(self) -> tuple[str, frozenset[str], str | None, frozenset[str]] | None:
        if self.next not in ("on", "ignoring"):
            return None
        how, labels = self._take(), self._names()
        side, copied = None, frozenset[str]()
        if self.next in ("group_left", "group_right"):
            side = self._take()
            copied = self._names() if self.next == "(" else copied
        return how, labels, side, copied

    def _joined(self, operator: str, matching, left, right):
        if left is None or right is None:
            return right if left is None else left
        if matching is None:
            if left != right:
                raise Wrong(f"{operator} never finds a pair: left has {sorted(left)}, right {sorted(right)}")
            return left
        how, labels, side, copied = matching
        for name, has in (("left", left), ("right", right)):
            if missing := labels - has:
                raise Wrong(f"{how} ({', '.join(sorted(missing))}): the {name} side has only {sorted(has)}")
        many, one = (right, left) if side == "group_right" else (left, right)
        if missing := copied - one:
            raise Wrong(f"{side} ({', '.join(sorted(missing))}): the other side has only {sorted(one)}")
        if side is not None:
            return many | copied
        if operator in ("and", "unless", "or", "==", "!=", "<", ">", "<=", ">="):
            return left
        return labels if how == "on" else left - labels

    def _unary(self) -> frozenset[str] | None:
        if self.next in ("-", "+"):
            self._take()
        return self._primary()

    def _primary(self) -> frozenset[str] | None:
        token = self._take()
        if token == "(":
            labels = self.binary(0)
            self._take(")")
        elif token[0] in "\"'" or token[0].isdigit():
            return None
        elif token in AGGREGATIONS and self.next in ("(", "by", "without"):
            labels = self._aggregation(token)
        elif token in FUNCTIONS and self.next == "(":
            labels = self._function(token)
        elif re.match(r"[A-Za-z_:]", token) and self.next != "(":
            labels = self._selector(token)
        else:
            raise Wrong(f'"{token}" is no function that is known here, and no metric')
        self._range()
        return labels

    def _selector(self, metric: str) -> frozenset[str]:
        labels = self._labels_of(metric)
        matchers = []
        if self.next == "{":
            self._take()
            while self.next != "}":
                label, operator, value = self._take(), self._take("=", "!=", "=~", "!~"), self._take()
                if label not in labels:
                    raise Wrong(f'{metric} has no label "{label}", only {sorted(labels)}')
                matchers.append((label, operator, value[1:-1]))
                if self.next == ",":
                    self._take()
            self._take("}")
        self.selectors.append(Selector(metric, tuple(matchers), self._within[::-1]))
        return labels

    def _range(self) -> None:
        if self.next == "[":
            self._take()
            while self._take() != "]":
                pass
        if self.next == "offset":
            self._take()
            self._take()

    def _arguments(self, name: str) -> list[frozenset[str] | None]:
        self._within.append(name)
        self._take("(")
        found = []
        while self.next != ")":
            found.append(self.binary(0))
            if self.next == ",":
                self._take()
        self._take(")")
        self._within.pop()
        return found

    def _function(self, name: str) -> frozenset[str] | None:
        vectors = [labels for labels in self._arguments(name) if labels is not None]
        if name in ("time", "scalar", "vector") or not vectors:
            return frozenset() if name == "vector" else None
        if name == "histogram_quantile":
            if "le" not in vectors[0]:
                raise Wrong(f"histogram_quantile of what has no le, only {sorted(vectors[0])}")
            return vectors[0] - {"le"}
        if name == "absent":
            return frozenset(label for label, operator, _ in self.selectors[-1].matchers if operator == "=")
        return vectors[0]

    def _aggregation(self, name: str) -> frozenset[str]:
        how = self._grouping()
        vectors = [labels for labels in self._arguments(name) if labels is not None]
        how = how or self._grouping()
        if not vectors:
            raise Wrong(f"{name} of a number")
        if how is None:
            return vectors[0] if name in ("topk", "bottomk") else frozenset()
        word, labels = how
        if missing := labels - vectors[0]:
            raise Wrong(f"{name} {word} ({', '.join(sorted(missing))}): what is in it has only {sorted(vectors[0])}")
        if name in ("topk", "bottomk"):
            return vectors[0]
        return labels if word == "by" else vectors[0] - labels

    def _grouping(self) -> tuple[str, frozenset[str]] | None:
        if self.next not in ("by", "without"):
            return None
        return self._take(), self._names()

    def _names(self) -> frozenset[str]:
        self._take("(")
        found = set()
        while (token := self._take()) != ")":
            if token != ",":
                found.add(token)
        return frozenset(found)
