"""What a PromQL expression asks for, and which labels its answer has.

`by (connector)` around a metric without that label is an error here, as is a label that an aggregation has already
dropped. Prometheus itself says nothing about either, and shows an empty graph.

https://prometheus.io/docs/prometheus/latest/querying/operators/
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import promql_parser as promql

#: What takes counters: of anything else the answer is nonsense.
OF_COUNTERS: Final = {"rate", "increase", "irate", "resets"}
_KEEPS_SERIES: Final = {"topk", "bottomk"}
_FILTERS: Final = {"and", "unless", "or", "==", "!=", "<", ">", "<=", ">="}
_SIGNS: Final = {"MatchOp.Equal": "=", "MatchOp.NotEqual": "!=", "MatchOp.Re": "=~", "MatchOp.NotRe": "!~"}

#: Labels of an answer; None for a number or a text.
Labels = frozenset[str] | None


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
    labels: Labels


def parse(text: str, labels_of: Callable[[str], frozenset[str]]) -> Query:
    """Read an expression.

    Args:
        labels_of: the labels that the series of a metric have; raises `Wrong` for a metric that does not exist.

    Raises:
        Wrong: it is not PromQL, or asks for what does not exist.
    """
    try:
        tree = promql.parse(text)
    except ValueError as error:
        raise Wrong(f"{error}: this is not PromQL: {text}") from None
    reader = _Reader(labels_of)
    return Query(reader.selectors, reader.labels(tree, []))


class _Reader:
    """Walks a tree. `within`: the functions and aggregations around a node, the innermost first."""

    def __init__(self, labels_of: Callable[[str], frozenset[str]]) -> None:
        self._labels_of = labels_of
        self.selectors: list[Selector] = []

    def labels(self, node: Any, within: list[str]) -> Labels:
        match node:
            case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
                return self.labels(node.expr, within)
            case promql.MatrixSelector():
                return self._selector(node.vector_selector, within)
            case promql.VectorSelector():
                return self._selector(node, within)
            case promql.AggregateExpr():
                return self._aggregation(node, within)
            case promql.Call():
                return self._function(node, within)
            case promql.BinaryExpr():
                return self._joined(node, self.labels(node.lhs, within), self.labels(node.rhs, within))
            case _:
                return None

    def _selector(self, node: Any, within: list[str]) -> Labels:
        labels, matchers = self._labels_of(node.name), []
        for matcher in node.matchers.matchers:
            if matcher.name not in labels:
                raise Wrong(f'{node.name} has no label "{matcher.name}", only {sorted(labels)}')
            matchers.append((matcher.name, _SIGNS[str(matcher.op)], matcher.value))
        self.selectors.append(Selector(node.name, tuple(matchers), within))
        return labels

    def _aggregation(self, node: Any, within: list[str]) -> Labels:
        name = str(node.op)
        inside = self.labels(node.expr, [name, *within]) or frozenset()
        if node.modifier is None:
            return inside if name in _KEEPS_SERIES else frozenset()
        by, labels = node.modifier.type == promql.AggModifierType.By, frozenset(node.modifier.labels)
        if missing := labels - inside:
            word = "by" if by else "without"
            raise Wrong(f"{name} {word} ({', '.join(sorted(missing))}): what is in it has only {sorted(inside)}")
        if name in _KEEPS_SERIES:
            return inside
        return labels if by else inside - labels

    def _function(self, node: Any, within: list[str]) -> Labels:
        name = node.func.name
        inside = [self.labels(argument, [name, *within]) for argument in node.args]
        vectors = [labels for labels in inside if labels is not None]
        if name == "vector":
            return frozenset()
        if name in ("time", "scalar") or not vectors:
            return None
        if name == "histogram_quantile":
            if "le" not in vectors[0]:
                raise Wrong(f"histogram_quantile of what has no le, only {sorted(vectors[0])}")
            return vectors[0] - {"le"}
        if name == "absent":
            return frozenset(label for label, operator, _ in self.selectors[-1].matchers if operator == "=")
        return vectors[0]

    def _joined(self, node: Any, left: Labels, right: Labels) -> Labels:
        operator, how = str(node.op), node.modifier
        if left is None or right is None:
            return right if left is None else left
        if how is None or how.matching is None:
            if left != right:
                raise Wrong(f"{operator} never finds a pair: left has {sorted(left)}, right {sorted(right)}")
            return left
        on, labels = how.matching.type == promql.LabelModifierType.Include, frozenset(how.matching.labels)
        for side, has in (("left", left), ("right", right)):
            if missing := labels - has:
                word = "on" if on else "ignoring"
                raise Wrong(f"{word} ({', '.join(sorted(missing))}): the {side} side has only {sorted(has)}")
        if how.card in (promql.VectorMatchCardinality.ManyToOne, promql.VectorMatchCardinality.OneToMany):
            many, one = (left, right) if how.card == promql.VectorMatchCardinality.ManyToOne else (right, left)
            copied = frozenset(how.group_labels or ())
            if missing := copied - one:
                raise Wrong(f"group ({', '.join(sorted(missing))}): the other side has only {sorted(one)}")
            return many | copied
        if operator in _FILTERS:
            return left
        return labels if on else left - labels
