"""From a tree to a Python function. Known types are checked here; unknown ones are checked on each value."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import transforms.expressions.moments
import transforms.expressions.texts  # noqa: F401 - both declare functions
from connect import DataError
from transforms.expressions import casts
from transforms.expressions.functions import IMPURE, quantized
from transforms.expressions.kinds import Kind, Typed, common, kind_of, of_value
from transforms.expressions.registry import FUNCTIONS, Function
from transforms.expressions.tree import Call, Case, ExpressionError, Literal, Node, Ref
from transforms.expressions.vectors import Vector, vector

_LAZY: Final = frozenset({"and", "or", "coalesce", "ifnull", "nvl", "if", "iff", "cast", "try_cast"})
_SPANNED: Final = frozenset({Kind.NULL, Kind.ANY})


#: Returns the type of a part of the record. Raises `ExpressionError` for one that does not exist.
Resolve = Callable[[Ref], Typed]


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression that can be run.

    Attributes:
        refs: the parts of the record that it needs, in the order of the function's arguments.
        run: returns the result for one record; takes one argument for each of `refs`. Raises `DataError`.
        over: returns the results for all rows; takes the columns of arguments and the number of rows.
        typed: the type of the result.
        vector: returns the results for Arrow columns of fields of the value; None if Arrow cannot compute them.
    """

    refs: tuple[Ref, ...]
    run: Callable[..., Any]
    over: Callable[[Sequence[Sequence[Any]], int], list[Any]]
    typed: Typed
    vector: Vector | None


def compiled(node: Node, resolve: Resolve, *, condition: bool = False) -> Compiled:
    """The function of a tree; with `condition` one that returns true, false or null.

    Raises:
        ExpressionError: a function does not exist, or types do not match.
    """
    writer = _Writer(resolve)
    code, typed = (writer.condition(node), Typed(Kind.BOOLEAN)) if condition else writer.write(node)
    if typed.kind is Kind.INTERVAL:
        raise ExpressionError("an interval cannot be a result. Add it to a timestamp.", node.at)
    code = writer.finished(code, typed)
    names = ", ".join(writer.refs.values())
    rows = f"for {names}, in zip(*columns)" if names else "for _ in range(rows)"
    source = f"def run({names}):\n    return {code}\ndef over(columns, rows):\n    return [{code} {rows}]\n"
    exec(compile(source, "<expression>", "exec"), writer.names)  # noqa: S102 - made of our own words, names and numbers
    arrow = None if typed.schema is not None and not condition else vector(node, resolve)
    return Compiled(tuple(writer.refs), writer.names["run"], writer.names["over"], typed, arrow)


class _Writer:
    """Writes Python code. What a user wrote is only reached through generated names and never part of the code."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._types: dict[Ref, Typed] = {}
        self.refs: dict[Ref, str] = {}
        self.names: dict[str, Any] = {"_test": _test, "_unknown": _unknown}

    def write(self, node: Node) -> tuple[str, Typed]:
        """The code of a node, and the type of its result."""
        code, typed = self._written(node)
        return (self._outlined(code) if _nesting(code) > _DEEP else code), typed

    def _outlined(self, code: str) -> str:
        """The code in a function of its own: Python refuses more than two hundred nested brackets."""
        name, arguments = f"_o{len(self.names)}", ", ".join(self.refs.values())
        exec(compile(f"def {name}({arguments}):\n    return {code}\n", "<expression>", "exec"), self.names)  # noqa: S102
        return f"{name}({arguments})"

    def _written(self, node: Node) -> tuple[str, Typed]:
        match node:
            case Literal():
                return self._constant(node.value), of_value(node.value)
            case Ref():
                return self._ref(node)
            case Case():
                return self._case(list(node.whens), node.default, node.at)
            case Call():
                return self._call(node)

    def finished(self, code: str, typed: Typed) -> str:
        """The code with its results converted to exactly the type that it promises."""
        if typed.schema is not None or typed.kind not in (Kind.DOUBLE, Kind.DECIMAL):
            return code
        convert = _double if typed.kind is Kind.DOUBLE else _to_scale(typed.scale)
        return f"{self._named('as', convert)}({code})"

    def _named(self, prefix: str, value: Any) -> str:
        name = f"_{prefix}{len(self.names)}"
        self.names[name] = value
        return name

    def _constant(self, value: Any) -> str:
        return repr(value) if value is None or value is True or value is False else self._named("k", value)

    def _ref(self, ref: Ref) -> tuple[str, Typed]:
        if ref.root == "headers" and not ref.path:
            raise ExpressionError("headers cannot be read all at once. Write headers.name for one.", ref.at)
        known = next((each for each in self.refs if (each.root, each.path) == (ref.root, ref.path)), None)
        if known is None:
            self._types[ref] = self._resolve(ref)
            self.refs[ref] = f"a{len(self.refs)}"
            known = ref
        return self.refs[known], self._types[known]

    def _case(self, whens: Sequence[tuple[Node, Node]], default: Node, at: int) -> tuple[str, Typed]:
        tests = [self.condition(test) for test, _ in whens]
        results = [self.write(result) for _, result in whens]
        last, last_type = self.write(default)
        typed = self._joined([*(each for _, each in results), last_type], at)
        chosen = [f"{result} if {test} is True else " for test, (result, _) in zip(tests, results, strict=True)]
        return f"({''.join(chosen)}{last})", typed

    def condition(self, node: Node) -> str:
        """The code of a condition, with a check of each result where its type is not known."""
        code, typed = self.write(node)
        if typed.kind not in (Kind.BOOLEAN, *_SPANNED):
            raise ExpressionError(f"a condition must be a boolean, not {typed.kind.value}.", node.at)
        return code if typed.kind is Kind.BOOLEAN and typed.schema is None else f"_test({code})"

    def _joined(self, types: list[Typed], at: int) -> Typed:
        typed = common(types)
        if typed is None:
            kinds = " and ".join(dict.fromkeys(each.kind.value for each in types if each.kind is not Kind.NULL))
            raise ExpressionError(f"the results have different types: {kinds}. Cast them to one type.", at)
        return typed

    def _call(self, node: Call) -> tuple[str, Typed]:
        name = node.name
        if name in _LAZY:
            return self._lazy(node)
        function = FUNCTIONS.get(name)
        if function is None:
            raise ExpressionError(_no_such_function(name), node.at)
        self._counted(node, function.least, function.most)
        parts = [self.write(arg) for arg in node.args]
        for place, (_, typed) in enumerate(parts):
            if typed.kind not in _SPANNED and typed.kind not in function.of(place):
                wanted = " or ".join(kind.value for kind in function.of(place)[:4])
                raise ExpressionError(f"{name} takes {wanted}, not {typed.kind.value}.", node.args[place].at)
        given = function.gives([typed for _, typed in parts])
        if given is None:
            kinds = ", ".join(typed.kind.value for _, typed in parts)
            raise ExpressionError(f"{name} does not accept {kinds} together. Cast them to one type.", node.at)
        if all(isinstance(arg, Literal) for arg in node.args):
            return self._folded(node, function, given)
        self._try_constants(node, function)
        return self._checked(function, node.args, parts), given

    def _checked(self, function: Function, args: Sequence[Node], parts: Sequence[tuple[str, Typed]]) -> str:
        """The call of a function; common cases of known types are inlined, behind a check of the types at run time."""
        slow = self._named("f", _quick(function))
        kinds = [_likely(typed.kind, function.of(place)) for place, (_, typed) in enumerate(parts)]
        codes = [code for code, _ in parts]
        operator = _OPERATORS.get(function.name)
        if function.name == "in" and kinds[0] in (Kind.TEXT, Kind.ANY) and all(_is_text(arg) for arg in args[1:]):
            held = self._held()
            texts = self._named("k", frozenset(arg.value for arg in args[1:] if isinstance(arg, Literal)))
            rest = ", ".join(codes[1:])
            return f"({held} in {texts} if type({held} := {codes[0]}) is str else {slow}({held}, {rest}))"
        if len(parts) == 1 and kinds[0] in _PYTHON and not function.nulls:
            held = self._held()
            run = self._named("r", function.run)
            return f"({run}({held}) if type({held} := {codes[0]}) is {_PYTHON[kinds[0]]} else {slow}({held}))"
        if operator is None or not set(kinds) <= _PYTHON.keys() or (Kind.DOUBLE not in kinds and operator in "+-*"):
            return f"{slow}({', '.join(codes)})"
        held, other = self._held(), self._held()
        types = [_PYTHON[kind] for kind in kinds]
        tests = f"(type({held} := {codes[0]}) is {types[0]}) & (type({other} := {codes[1]}) is {types[1]})"
        return f"({held} {operator} {other} if {tests} else {slow}({held}, {other}))"

    def _counted(self, node: Call, least: int, most: int | None) -> None:
        if least <= len(node.args) and (most is None or len(node.args) <= most):
            return
        wanted = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
        raise ExpressionError(f"{node.name} takes {wanted} arguments, not {len(node.args)}.", node.at)

    def _folded(self, node: Call, function: Function, given: Typed) -> tuple[str, Typed]:
        try:
            value = function.called()(*(arg.value for arg in node.args if isinstance(arg, Literal)))
        except DataError as error:
            raise ExpressionError(str(error), node.at) from None
        return self._constant(value), given

    def _try_constants(self, node: Call, function: Function) -> None:
        """Raise ExpressionError for constants that no record can make good, such as a wrong pattern."""
        if not function.example or not any(isinstance(arg, Literal) for arg in node.args):
            return
        values = []
        for place, arg in enumerate(node.args):
            if not isinstance(arg, Literal) and function.example[place] is None:
                return
            values.append(arg.value if isinstance(arg, Literal) else function.example[place])
        try:
            function.called()(*values)
        except DataError as error:
            raise ExpressionError(str(error), node.at) from None

    def _lazy(self, node: Call) -> tuple[str, Typed]:
        match node.name:
            case "and" | "or":
                return self._both(node)
            case "if" | "iff":
                self._counted(node, 2, 3)
                default = node.args[2] if len(node.args) == 3 else Literal(node.at, None)
                return self._case([(node.args[0], node.args[1])], default, node.at)
            case "cast" | "try_cast":
                return self._cast(node)
        self._counted(node, 1, None)
        parts = [self.write(arg) for arg in node.args]
        typed = self._joined([each for _, each in parts], node.at)
        code = parts[-1][0]
        for part, _ in reversed(parts[:-1]):
            held = self._held()
            code = f"({held} if ({held} := {part}) is not None else {code})"
        return code, typed

    def _both(self, node: Call) -> tuple[str, Typed]:
        """AND and OR with three values; the right side is evaluated only where it matters."""
        left, right = (self.condition(arg) for arg in node.args)
        end = "False" if node.name == "and" else "True"
        on = "True" if node.name == "and" else "False"
        held = self._held()
        code = f"({end} if ({held} := {left}) is {end} else {right} if {held} is {on} else _unknown({right}, {end}))"
        return code, Typed(Kind.BOOLEAN)

    def _held(self) -> str:
        self.names[f"_h{len(self.names)}"] = None
        return f"h{len(self.names)}"

    def _cast(self, node: Call) -> tuple[str, Typed]:
        name = node.args[1]
        assert isinstance(name, Literal)
        try:
            target = casts.target(name.value)
        except DataError as error:
            raise ExpressionError(str(error), node.at) from None
        code, typed = self.write(node.args[0])
        if typed.kind is Kind.INTERVAL:
            raise ExpressionError("an interval cannot be cast.", node.at)
        convert = _tried(target.convert) if node.name == "try_cast" else _cast(target.convert)
        if isinstance(node.args[0], Literal):
            try:
                return self._constant(convert(node.args[0].value)), target.typed
            except DataError as error:
                raise ExpressionError(str(error), node.at) from None
        return f"{self._named('c', convert)}({code})", target.typed


#: How many nested brackets are left in one piece of code.
_DEEP: Final = 60


def _nesting(code: str) -> int:
    """The depth of the most deeply nested brackets."""
    depth = most = 0
    for character in code:
        if character == "(":
            depth += 1
            most = max(most, depth)
        elif character == ")":
            depth -= 1
    return most


def _no_such_function(name: str) -> str:
    if name in IMPURE:
        return f"{name} returns another result each time. Use record.timestamp for the time of a record."
    near = next(iter(difflib.get_close_matches(name, sorted(FUNCTIONS.keys() | _LAZY), n=1, cutoff=0.75)), None)
    return f"there is no function {name}." + (f" Did you mean {near}?" if near else "")


def _test(value: Any) -> bool | None:
    if value is None or value is True or value is False:
        return value
    raise DataError(f"a condition must be a boolean, not {kind_of(value).value}.")


def _unknown(right: bool | None, end: bool) -> bool | None:
    return right if right is end else None


def _double(value: Any) -> Any:
    return value if value is None or type(value) is float else float(value)


def _to_scale(scale: int) -> Callable[[Any], Any]:
    exponent = -scale

    def convert(value: Any) -> Any:
        if value is None or (type(value) is Decimal and value.as_tuple().exponent == exponent):
            return value

        return quantized(Decimal(repr(value) if isinstance(value, float) else value), scale)

    return convert


def _cast(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _tried(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def attempt(value: Any) -> Any:
        try:
            return None if value is None else convert(value)
        except DataError:
            return None

    return attempt


# Fast paths for common cases: two numbers, two values of one plain type.

_PLAIN_NUMBERS: Final = frozenset({int, float})
_PLAIN: Final = frozenset({int, float, str, bool})
_LIMIT: Final = 1 << 63


_PYTHON: Final = {Kind.INTEGER: "int", Kind.DOUBLE: "float", Kind.TEXT: "str"}
_OPERATORS: Final = {
    **{sign: sign for sign in ("+", "-", "*", "<", "<=", ">", ">=")},
    "=": "==",
    "<>": "!=",
}


def _likely(kind: Kind, taken: tuple[Kind, ...]) -> Kind:
    """The kind that an argument has, or must have where the function accepts only one."""
    return taken[0] if kind is Kind.ANY and len(taken) == 1 else kind


def _is_text(node: Node) -> bool:
    return isinstance(node, Literal) and isinstance(node.value, str)


def _quick(function: Function) -> Callable[..., Any]:
    slow = function.called()
    return _QUICK[function.name](slow) if function.name in _QUICK else slow


def _arithmetic(plain: Callable[[Any, Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(slow: Callable[..., Any]) -> Callable[..., Any]:
        def run(a: Any, b: Any) -> Any:
            if type(a) in _PLAIN_NUMBERS and type(b) in _PLAIN_NUMBERS:
                result = plain(a, b)
                if type(result) is float or -_LIMIT <= result < _LIMIT:
                    return result
            return slow(a, b)

        return run

    return make


def _comparison(plain: Callable[[Any, Any], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(slow: Callable[..., Any]) -> Callable[..., Any]:
        def run(a: Any, b: Any) -> Any:
            one, two = type(a), type(b)
            if (one is two and one in _PLAIN) or (one in _PLAIN_NUMBERS and two in _PLAIN_NUMBERS):
                return plain(a, b)
            return slow(a, b)

        return run

    return make


_QUICK: Final = {
    "+": _arithmetic(lambda a, b: a + b),
    "-": _arithmetic(lambda a, b: a - b),
    "*": _arithmetic(lambda a, b: a * b),
    "=": _comparison(lambda a, b: a == b),
    "<>": _comparison(lambda a, b: a != b),
    "<": _comparison(lambda a, b: a < b),
    "<=": _comparison(lambda a, b: a <= b),
    ">": _comparison(lambda a, b: a > b),
    ">=": _comparison(lambda a, b: a >= b),
}
