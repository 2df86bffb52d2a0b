"""Expressions over Arrow columns, where Arrow's results equal those of `functions`. Python does the rest.

What Arrow refuses (an overflow, for example) runs again in Python, which raises the error if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from connect.data import logical
from transforms.expressions.kinds import Kind, Typed, of_value
from transforms.expressions.tree import Call, Case, Literal, Node, Ref

if TYPE_CHECKING:
    import pyarrow as pa

#: The columns of fields by their names.
Columns = Mapping[str, "pa.Array"]
#: Returns a column, or a scalar for an expression of constants. Raises `pyarrow.ArrowException`.
Vector = Callable[[Columns], Any]

_PLAIN: Final = frozenset({Kind.INTEGER, Kind.DOUBLE, Kind.TEXT, Kind.BOOLEAN})
_ARITHMETIC: Final = {"+": "add_checked", "-": "subtract_checked", "*": "multiply_checked"}
_COMPARISONS: Final = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


class NotInArrow(Exception):
    """Arrow cannot compute an expression, or a part of it."""


def vector(node: Node, resolve: Callable[[Ref], Typed]) -> Vector | None:
    """The expression over columns of the value's fields; None where Arrow cannot compute it."""
    try:
        made, _ = _Maker(resolve).make(node)
    except NotInArrow:
        return None
    return made


_Made = tuple[Vector, Kind]


class _Maker:
    """Makes the vector of each node, and its kind."""

    def __init__(self, resolve: Callable[[Ref], Typed]) -> None:
        self._resolve = resolve

    def make(self, node: Node) -> _Made:
        match node:
            case Literal():
                return self._literal(node)
            case Ref():
                return self._ref(node)
            case Case():
                return self._case(node)
            case Call():
                return self._call(node)

    def _literal(self, node: Literal) -> _Made:
        kind = of_value(node.value).kind
        if kind not in _PLAIN:
            raise NotInArrow
        value = node.value

        def made(columns: Columns) -> Any:
            import pyarrow as pa

            return pa.scalar(value, _arrow_type(kind))

        return made, kind

    def _ref(self, node: Ref) -> _Made:
        typed = self._resolve(node)
        if node.root != "value" or len(node.path) != 1 or typed.kind not in _PLAIN or typed.schema is None:
            raise NotInArrow
        if logical.python_type(typed.schema) is not None:
            raise NotInArrow
        name, kind = str(node.path[0]), typed.kind
        if kind not in (Kind.INTEGER, Kind.DOUBLE):
            return lambda columns: columns[name], kind
        return lambda columns: _cast(columns[name], kind), kind

    def _case(self, node: Case) -> _Made:
        made = self.make(node.default) if not _is_null(node.default) else None
        for test, result in reversed(node.whens):
            made = self._chosen(self._condition(test), self.make(result), made)
        assert made is not None
        return made

    def _chosen(self, test: Vector, one: _Made, other: _Made | None) -> _Made:
        if other is not None and other[1] is not one[1]:
            raise NotInArrow
        first, kind = one

        def made(columns: Columns) -> Any:
            import pyarrow as pa
            import pyarrow.compute as pc

            rest = pa.scalar(None, _arrow_type(kind)) if other is None else other[0](columns)
            return pc.if_else(pc.fill_null(test(columns), False), first(columns), rest)

        return made, kind

    def _condition(self, node: Node) -> Vector:
        made, kind = self.make(node)
        if kind is not Kind.BOOLEAN:
            raise NotInArrow
        return made

    def _call(self, node: Call) -> _Made:
        name, args = node.name, node.args
        if name in ("is distinct from", "is not distinct from") and _is_null(args[1]):
            inner = self.make(args[0])[0]
            return _with("is_valid" if name == "is distinct from" else "is_null", inner), Kind.BOOLEAN
        if name == "in":
            return self._in(args)
        parts = [self.make(arg) for arg in args]
        vectors, kinds = [part[0] for part in parts], [part[1] for part in parts]
        if name in _ARITHMETIC:
            kind = self._number(kinds)
            return _with(_ARITHMETIC[name], *(_as(kind, each) for each in vectors)), kind
        if name in _COMPARISONS:
            return self._compared(_COMPARISONS[name], vectors, kinds), Kind.BOOLEAN
        if name == "between":
            above = self._compared("greater_equal", vectors[:2], kinds[:2])
            below = self._compared("less_equal", [vectors[0], vectors[2]], [kinds[0], kinds[2]])
            return _with("and_kleene", above, below), Kind.BOOLEAN
        if name in ("and", "or", "not") and set(kinds) == {Kind.BOOLEAN}:
            return _with({"not": "invert"}.get(name, f"{name}_kleene"), *vectors), Kind.BOOLEAN
        if name in ("coalesce", "ifnull", "nvl") and len(set(kinds)) == 1:
            return _with("coalesce", *vectors), kinds[0]
        if set(kinds) == {Kind.TEXT}:
            return self._text(name, vectors, args)
        raise NotInArrow

    def _in(self, args: Sequence[Node]) -> _Made:
        inner, kind = self.make(args[0])
        values = [arg.value for arg in args[1:] if isinstance(arg, Literal)]
        if len(values) < len(args) - 1 or {of_value(value).kind for value in values} != {kind} or kind is Kind.DOUBLE:
            raise NotInArrow

        def made(columns: Columns) -> Any:
            import pyarrow as pa
            import pyarrow.compute as pc

            column = inner(columns)
            found = pc.is_in(column, value_set=pa.array(values, _arrow_type(kind)))
            return pc.if_else(pc.is_valid(column), found, pa.scalar(None, pa.bool_()))

        return made, Kind.BOOLEAN

    def _number(self, kinds: Sequence[Kind]) -> Kind:
        if not set(kinds) <= {Kind.INTEGER, Kind.DOUBLE}:
            raise NotInArrow
        return Kind.DOUBLE if Kind.DOUBLE in kinds else Kind.INTEGER

    def _compared(self, function: str, vectors: Sequence[Vector], kinds: Sequence[Kind]) -> Vector:
        if kinds[0] is kinds[1]:
            return _with(function, *vectors)
        kind = self._number(kinds)
        return _with(function, *(_as(kind, each) for each in vectors))

    def _text(self, name: str, vectors: Sequence[Vector], args: Sequence[Node]) -> _Made:
        if name in ("upper", "lower"):
            return _ascii_only(f"utf8_{name}", vectors[0]), Kind.TEXT
        if name in ("length", "char_length", "character_length"):
            return _as(Kind.INTEGER, _with("utf8_length", vectors[0])), Kind.INTEGER
        if name == "||":
            return _with("binary_join_element_wise", *vectors, lambda _: ""), Kind.TEXT
        functions = {"starts_with": "starts_with", "ends_with": "ends_with", "contains": "match_substring"}
        if name in functions and isinstance(args[1], Literal):
            pattern = args[1].value
            return lambda columns: _call(functions[name], vectors[0](columns), pattern=pattern), Kind.BOOLEAN
        raise NotInArrow


def _is_null(node: Node) -> bool:
    return isinstance(node, Literal) and node.value is None


def _arrow_type(kind: Kind) -> Any:
    import pyarrow as pa

    types = {Kind.INTEGER: pa.int64(), Kind.DOUBLE: pa.float64(), Kind.TEXT: pa.string(), Kind.BOOLEAN: pa.bool_()}
    return types[kind]


def _call(function: str, *arguments: Any, **options: Any) -> Any:
    import pyarrow.compute as pc

    return getattr(pc, function)(*arguments, **options)


def _with(function: str, *vectors: Vector) -> Vector:
    return lambda columns: _call(function, *(each(columns) for each in vectors))


def _cast(column: Any, kind: Kind) -> Any:
    """The column as this kind. Arrow refuses whole numbers that a double does not hold exactly."""
    wanted = _arrow_type(kind)
    return column if column.type == wanted else column.cast(wanted)


def _as(kind: Kind, inner: Vector) -> Vector:
    return lambda columns: _cast(inner(columns), kind)


def _ascii_only(function: str, inner: Vector) -> Vector:
    """The function for ASCII only: Arrow and Python change the case of other letters, such as ß, differently."""

    def made(columns: Columns) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = inner(columns)
        if pc.all(pc.string_is_ascii(column)).as_py() is False:
            raise pa.ArrowInvalid("not only ASCII")
        return _call(function, column)

    return made
