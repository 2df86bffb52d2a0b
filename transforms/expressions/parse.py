"""From text to a tree. sqlglot parses SQL in PostgreSQL's dialect; functions, operators and names are defined here.

sqlglot's own functions are switched off, so that every function keeps the name that the user wrote.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from connect import ConnectError
from transforms.expressions.functions import AGGREGATES
from transforms.expressions.kinds import Interval
from transforms.expressions.tree import RECORD, ROOTS, Call, Case, ExpressionError, Literal, Node, Ref

if TYPE_CHECKING:
    from sqlglot import exp

_BINARY: Final = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "Mod": "%",
    "DPipe": "||",
    "EQ": "=",
    "NEQ": "<>",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
    "NullSafeEQ": "is not distinct from",
    "NullSafeNEQ": "is distinct from",
    "And": "and",
    "Or": "or",
    "Like": "like",
    "ILike": "ilike",
    "RegexpLike": "regexp_like",
    "RegexpILike": "regexp_ilike",
    "Pow": "power",
}
_ASSOCIATIVE: Final = frozenset({"And", "Or", "DPipe"})
_NEVER: Final = {
    "Window": "a window function reads other records. An expression sees one record",
    "Subquery": "there are no subqueries: an expression sees one record",
    "Select": "there are no subqueries: an expression sees one record",
    "Exists": "there are no subqueries: an expression sees one record",
    "Star": "* is not a value. Name the fields",
    "Block": "write one expression; several fields are separated by commas",
    "Alias": "write new_name = expression",
    "Parameter": "there are no parameters",
}
_UNITS: Final = {
    "MILLISECOND": dt.timedelta(milliseconds=1),
    "SECOND": dt.timedelta(seconds=1),
    "MINUTE": dt.timedelta(minutes=1),
    "HOUR": dt.timedelta(hours=1),
    "DAY": dt.timedelta(days=1),
    "WEEK": dt.timedelta(weeks=1),
}
_BEHIND_ARROW: Final = (
    "write 'name' or a whole number after this arrow, and the whole in brackets before a cast or a dot."
)
_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


class Assignment(NamedTuple):
    """`name = expression`: where the result goes, and the expression."""

    target: Ref
    node: Node


def parse(text: str) -> Node:
    """The tree of one expression.

    Raises:
        ExpressionError: the text is not an expression.
    """
    return _Reader(text, 0, len(text)).read()


def parse_assignments(text: str) -> list[Assignment]:
    """The trees of `total = price * quantity, name = upper(name)`.

    Raises:
        ExpressionError: the text is not such a list.
    """
    tokens = _tokens(text)
    found = []
    for part in _split(tokens, text):
        equals = next((i for i, token in enumerate(part) if token.text == text[token.start] == "="), None)
        if equals is None or equals == 0 or equals == len(part) - 1:
            raise ExpressionError("write field = expression.", part[0].start if part else len(text))
        target = _Reader(text, part[0].start, part[equals - 1].end + 1).target()
        found.append(Assignment(target, _Reader(text, part[equals + 1].start, part[-1].end + 1).read()))
    return found


@cache
def _dialect() -> Any:
    try:
        from sqlglot.dialects.postgres import Postgres
    except ImportError as error:
        raise ConnectError(
            "Expression needs the library sqlglot. Install it: pip install 'connect-runtime[expressions]'"
        ) from error
    kept = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "POSITION")
    theirs: Any = Postgres.Parser
    changes = {
        "FUNCTIONS": {},
        "FUNCTION_PARSERS": {name: theirs.FUNCTION_PARSERS[name] for name in kept},
        "NO_PAREN_FUNCTIONS": {},
        "NO_PAREN_FUNCTION_PARSERS": {"CASE": theirs.NO_PAREN_FUNCTION_PARSERS["CASE"]},
    }
    # Nothing begins a statement: `comment` and `lock` are names, as in PostgreSQL.
    tokenizer: Any = type("Tokenizer", (Postgres.Tokenizer,), {"COMMANDS": set()})
    return type("Expressions", (Postgres,), {"Parser": type("Parser", (theirs,), changes), "Tokenizer": tokenizer})


def _tokens(text: str) -> list[Any]:
    dialect = _dialect()
    from sqlglot.errors import TokenError

    try:
        return list(dialect().tokenize(text))
    except TokenError as error:
        raise ExpressionError(f"this cannot be read: {error}") from None


def _split(tokens: list[Any], text: str) -> Iterator[list[Any]]:
    depth = 0
    part: list[Any] = []
    for token in tokens:
        sign = text[token.start]  # of a string or a name in quotes the quotation mark
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            if not part:
                raise ExpressionError("there is nothing before this comma.", token.start)
            yield part
            part = []
        else:
            part.append(token)
    if not part:
        raise ExpressionError("write field = expression.", len(text))
    yield part


class _Reader:
    """Reads a part of a text; positions are counted in the whole text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._start = start
        self._end = end

    def read(self) -> Node:
        return self._node(self._parsed())

    def target(self) -> Ref:
        node = self.read()
        if not isinstance(node, Ref) or any(isinstance(step, int) for step in node.path):
            raise ExpressionError("a result must be assigned to a field, not to an expression.", self._start)
        return node

    def _parsed(self) -> Any:
        dialect = _dialect()
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import ParseError, TokenError

        part = self._text[self._start : self._end]
        if not part.strip():
            raise ExpressionError("there is no expression.", self._start)
        for arrow, token in pairwise(_tokens(part)):
            # sqlglot takes 1.5 for a name.
            number = token.token_type.name == "NUMBER" and not token.text.isdigit()
            if number and arrow.token_type.name in ("ARROW", "DARROW"):
                raise ExpressionError(_BEHIND_ARROW, self._start + token.start)
        try:
            return sqlglot.parse_one(part, dialect=dialect, into=exp.Expr)
        except ParseError as error:
            raise ExpressionError("this is not a valid expression.", self._place(error)) from None
        except TokenError as error:
            raise ExpressionError(f"this cannot be read: {error}", self._start) from None

    def _place(self, error: Any) -> int:
        first = error.errors[0] if error.errors else {}
        line, column, word = first.get("line") or 1, first.get("col") or 0, first.get("highlight") or ""
        lines = self._text[self._start : self._end].split("\n")
        offset = sum(len(each) + 1 for each in lines[: line - 1]) + column
        return self._start + max(offset - len(word), 0)

    def _at(self, node: Any) -> int:
        starts = [each.meta["start"] for each in node.walk() if "start" in each.meta]
        return self._start + min(starts, default=0)

    def _node(self, node: Any) -> Node:
        kind, at = type(node).__name__, self._at(node)
        if kind in _NEVER:
            raise ExpressionError(f"{_NEVER[kind]}.", at)
        if kind in _ASSOCIATIVE:
            return self._chain(node, kind, at)
        if kind in _BINARY:
            return Call(at, _BINARY[kind], (self._node(node.this), self._node(node.expression)))
        read = getattr(self, f"_read_{kind.lower()}", None)
        if read is None:
            raise ExpressionError(f"{node.sql(dialect='postgres')} is not supported.", at)
        found: Node = read(node, at)
        return found

    def _call(self, at: int, name: str, *args: Any) -> Call:
        return Call(at, name, tuple(self._node(each) for each in args if each is not None))

    def _chain(self, node: Any, kind: str, at: int) -> Node:
        """`a or b or c ...` as a balanced tree: people write hundreds of operands."""
        operands = []
        while type(node).__name__ == kind:
            operands.append(node.expression)
            node = node.this
        nodes = [self._node(each) for each in (node, *reversed(operands))]
        while len(nodes) > 1:
            pairs = [nodes[i : i + 2] for i in range(0, len(nodes), 2)]
            nodes = [Call(at, _BINARY[kind], tuple(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
        return nodes[0]

    # Constants and names.

    def _read_literal(self, node: exp.Literal, at: int) -> Node:
        if node.is_string:
            return Literal(at, node.this)
        text = str(node.this)
        if re.fullmatch(r"\d+", text):
            if len(text) > 19 or int(text) >= 1 << 63:
                raise ExpressionError("this number does not fit into 64 bits.", at)
            return Literal(at, int(text))
        return Literal(at, float(text))

    def _read_boolean(self, node: Any, at: int) -> Node:
        return Literal(at, bool(node.this))

    def _read_null(self, node: Any, at: int) -> Node:
        return Literal(at, None)

    def _read_paren(self, node: Any, at: int) -> Node:
        return self._node(node.this)

    def _read_column(self, node: Any, at: int) -> Node:
        return _reference(
            [part.name for part in node.parts], [bool(part.args.get("quoted")) for part in node.parts], at
        )

    def _read_dot(self, node: Any, at: int) -> Node:
        inner = self._node(node.this)
        if not isinstance(inner, Ref) or type(node.expression).__name__ != "Identifier":
            raise ExpressionError("a dot may only stand between names of fields.", at)
        return Ref(at, inner.root, (*inner.path, node.expression.name))

    def _read_bracket(self, node: Any, at: int) -> Node:
        inner = self._node(node.this)
        steps = [self._node(each) for each in node.expressions]
        if not isinstance(inner, Ref) or len(steps) != 1 or not isinstance(steps[0], Literal):
            raise ExpressionError("write field[1] for an item of a list, or field['name'] for an entry of a map.", at)
        step = steps[0].value
        if isinstance(step, int) and not isinstance(step, bool):
            step += 1  # PostgreSQL counts from 1, sqlglot's tree from 0
            if step < 1:
                raise ExpressionError("list items are counted from 1.", at)
        elif not isinstance(step, str):
            raise ExpressionError("only whole numbers and strings may stand in brackets.", at)
        return _referred(at, inner, step)

    # Functions and operators with a grammar of their own.

    def _read_anonymous(self, node: Any, at: int) -> Node:
        name = str(node.this).lower()
        if name in AGGREGATES:
            raise ExpressionError(f"{name} aggregates several records. An expression sees one record.", at)
        return self._call(at, name, *node.expressions)

    def _read_not(self, node: Any, at: int) -> Node:
        return self._call(at, "not", node.this)

    def _read_neg(self, node: Any, at: int) -> Node:
        inner = self._node(node.this)
        if isinstance(inner, Literal) and isinstance(inner.value, int | float | Decimal):
            return Literal(at, -inner.value)
        return Call(at, "negate", (inner,))

    def _read_is(self, node: Any, at: int) -> Node:
        if type(node.expression).__name__ not in ("Null", "Boolean"):
            raise ExpressionError("IS must be followed by NULL, TRUE, FALSE or DISTINCT FROM.", at)
        name = "is not distinct from" if not node.args.get("negate") else "is distinct from"
        return self._call(at, name, node.this, node.expression)

    def _read_in(self, node: Any, at: int) -> Node:
        if node.args.get("query") is not None or not node.expressions:
            raise ExpressionError("there are no subqueries: write IN (value, ...).", at)
        return self._call(at, "in", node.this, *node.expressions)

    def _read_between(self, node: Any, at: int) -> Node:
        return self._call(at, "between", node.this, node.args["low"], node.args["high"])

    def _read_escape(self, node: Any, at: int) -> Node:
        inner = self._node(node.this)
        assert isinstance(inner, Call)
        return Call(at, inner.name, (*inner.args, self._node(node.expression)))

    def _read_case(self, node: Any, at: int) -> Node:
        subject = None if node.this is None else self._node(node.this)
        whens = []
        for each in node.args["ifs"]:
            test = self._node(each.this)
            whens.append(
                (test if subject is None else Call(test.at, "=", (subject, test)), self._node(each.args["true"]))
            )
        default = node.args.get("default")
        return Case(at, tuple(whens), Literal(at, None) if default is None else self._node(default))

    def _read_cast(self, node: Any, at: int) -> Node:
        return Call(at, "cast", (self._node(node.this), Literal(at, _type_name(node.args["to"]))))

    def _read_trycast(self, node: Any, at: int) -> Node:
        return Call(at, "try_cast", (self._node(node.this), Literal(at, _type_name(node.args["to"]))))

    def _read_extract(self, node: Any, at: int) -> Node:
        return Call(at, "date_part", (Literal(at, node.this.name.lower()), self._node(node.expression)))

    def _read_trim(self, node: Any, at: int) -> Node:
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get((node.args.get("position") or "").upper(), "trim")
        return self._call(at, name, node.this, node.expression)

    def _read_substring(self, node: Any, at: int) -> Node:
        start = node.args.get("start")
        first = Literal(at, 1) if start is None else self._node(start)
        length = node.args.get("length")
        return Call(at, "substring", (self._node(node.this), first, *([] if length is None else [self._node(length)])))

    def _read_strposition(self, node: Any, at: int) -> Node:
        return self._call(at, "strpos", node.this, node.args["substr"])

    def _read_jsonextractscalar(self, node: Any, at: int) -> Node:
        return Call(at, "json_value", (self._node(node.this), Literal(at, self._json_path(node.expression, at))))

    def _read_jsonextract(self, node: Any, at: int) -> Node:
        return Call(at, "json_query", (self._node(node.this), Literal(at, self._json_path(node.expression, at))))

    def _json_path(self, node: Any, at: int) -> str:
        steps: list[str] = []
        # sqlglot takes what follows as a part of the arrow's right side: a name, a sum, a cast.
        found: list[Any] = node.expressions if type(node).__name__ == "JSONPath" else [None]
        for step in found:
            name = type(step).__name__
            if name == "JSONPathKey" and isinstance(step.this, str):
                steps.append("." + _quoted(step.this))
            elif name == "JSONPathSubscript" and isinstance(step.this, int):
                steps.append(f"[{step.this}]")
            elif name != "JSONPathRoot":
                raise ExpressionError(_BEHIND_ARROW, at)
        return "$" + "".join(steps)

    def _read_interval(self, node: Any, at: int) -> Node:
        unit = str(node.args["unit"].name if node.args.get("unit") else "").upper().removesuffix("S")
        amount = re.fullmatch(r"[+-]?\d{1,9}", str(node.this.this) if node.this is not None else "")
        if not amount or (unit not in _UNITS and unit not in _MONTHS):
            raise ExpressionError("write an interval as '3 days': a whole number and one unit.", at)
        number = int(amount[0])
        if unit in _MONTHS:
            return Literal(at, Interval(number * _MONTHS[unit], dt.timedelta()))
        return Literal(at, Interval(0, number * _UNITS[unit]))


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _type_name(node: Any) -> str:
    numbers = [str(param.name) for param in node.expressions]
    name = str(node.args.get("kind") or node.this.value).lower()
    return name + (f"({','.join(numbers)})" if numbers else "")


def _reference(names: list[str], quoted: list[bool], at: int) -> Ref:
    if names[0] in ROOTS and not quoted[0]:
        root, path = names[0], tuple(names[1:])
    else:
        root, path = "value", tuple(names)
    return _checked(Ref(at, root, path))


def _referred(at: int, inner: Ref, step: str | int) -> Ref:
    return _checked(Ref(at, inner.root, (*inner.path, step)))


def _checked(ref: Ref) -> Ref:
    if ref.root == "record" and ref.path and ref.path[0] not in RECORD:
        raise ExpressionError(f"a record has no {ref.path[0]}. It has {', '.join(RECORD)}.", ref.at)
    return ref
