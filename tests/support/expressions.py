"""The regular expressions of our own sources, and by which methods each is run.

    python -m tests.support.expressions      one line of JSON for each that takes too long on a hostile text, then one
                                             with those that Python 3.11.2 gets wrong, one with those that only a run
                                             can make, and how many were looked at

Runs in a process of its own: it imports every module.
"""

import ast
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final, NamedTuple

from tests.support.hostile_texts import repeats_groups_possessively, slowest

PACKAGES: Final = ("connect", "rest", "transforms", "connectors", "spark_sink")
_METHODS: Final = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
_RUNS: Final = re.compile(rf"\.(?:compile|{'|'.join(_METHODS)})\b")
#: Those from the beginning of a text only, and those that start over at each of its characters.
_UNKNOWN_USE: Final = frozenset({"fullmatch", "match", "search"})


class Expression(NamedTuple):
    """A regular expression.

    Attributes:
        module, name: where it stands; `line 12` in place of a name where it has none.
        methods: by which it is run.
    """

    module: str
    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


class Found(NamedTuple):
    """What the sources have.

    Attributes:
        expressions: those in attributes of modules and classes, and those that are written where they are run.
        of_the_run: functions that make one of what only a run knows.
    """

    expressions: list[Expression]
    of_the_run: list[str]


def find() -> Found:
    """Import and read all modules."""
    modules = list(_modules())
    sources = {module.__name__: _nodes(module) for module in modules}
    used = _uses(sources)
    seen: set[int] = set()
    found = [
        Expression(module.__name__, name, pattern, used.get((module.__name__, name.partition(".")[0])) or _UNKNOWN_USE)
        for module in modules
        for name, pattern in _attributes(module, seen)
    ]
    of_the_run: list[str] = []
    for module in modules:
        for one in _inline(module, sources[module.__name__]):
            if isinstance(one, Expression):
                found.append(one)
            else:
                of_the_run.append(one)
    # One that is imported stands in several modules; the methods of all count.
    merged: dict[tuple[Any, int], Expression] = {}
    for one in found:
        key = (one.pattern.pattern, one.pattern.flags)
        other = merged.setdefault(key, one)
        merged[key] = other._replace(methods=other.methods | one.methods)
    return Found(list(merged.values()), sorted(of_the_run))


def _modules() -> Iterator[ModuleType]:
    for root in PACKAGES:
        package = importlib.import_module(root)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{root}."):
            yield importlib.import_module(found.name)


def _nodes(module: ModuleType) -> list[ast.AST]:
    """Of a module's source; none for a module that runs no expression."""
    source = inspect.getsource(module)
    return list(ast.walk(ast.parse(source))) if _RUNS.search(source) else []


# In attributes.


def _attributes(module: ModuleType, seen: set[int]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    for name, value in vars(module).items():
        if inspect.isclass(value) and value.__module__ == module.__name__:
            for attribute, inner in vars(value).items():
                yield from _patterns(f"{name}.{attribute}", inner, 3, seen)
        elif not inspect.ismodule(value):
            yield from _patterns(name, value, 4, seen)


def _patterns(name: str, value: Any, depth: int, seen: set[int]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    inside: list[Any] = []
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, dict):
        inside = [*value.values(), *value]
    elif isinstance(value, tuple | list | set | frozenset):
        inside = list(value)
    elif type(value).__module__.partition(".")[0] in PACKAGES and hasattr(value, "__dict__"):
        inside = list(vars(value).values())
    if inside and depth and id(value) not in seen:
        seen.add(id(value))
        for inner in inside:
            if not isinstance(inner, str | bytes | int | float):
                yield from _patterns(name, inner, depth - 1, seen)


def _uses(sources: dict[str, list[ast.AST]]) -> dict[tuple[str, str], frozenset[str]]:
    """For each name of a module the methods that are called of it, there or where it is imported."""
    found: dict[tuple[str, str], set[str]] = {}
    for module, nodes in sources.items():
        origins = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
        for node in nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=method) if method in _METHODS:
                    for key in {(module, name), origins.get(name, (module, name))}:
                        found.setdefault(key, set()).add(method)
                case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name), attr=method) if (
                    method in _METHODS
                ):
                    found.setdefault((module, name), set()).add(method)
    return {key: frozenset(methods) for key, methods in found.items()}


# Where they are run.


def _inline(module: ModuleType, nodes: list[ast.AST]) -> Iterator[Expression | str]:
    chained = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr in _METHODS}
    functions = [(node.lineno, node.end_lineno or 0, node.name) for node in nodes if isinstance(node, ast.FunctionDef)]
    for call in nodes:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[made_of, *others]) if (
                method in (*_METHODS, "compile")
            ):
                around = [name for first, last, name in functions if first <= call.lineno <= last]
                if method == "compile" and not around:
                    continue  # an attribute has it
                flags = [_value(node, module) for node in [*others, *(word.value for word in call.keywords)]]
                written = _value(made_of, module)
                if not isinstance(written, str | bytes):
                    yield ".".join([module.__name__, *around[-1:]])
                    continue
                pattern = re.compile(written, sum(flag for flag in flags if isinstance(flag, re.RegexFlag)))
                methods = _UNKNOWN_USE if method == "compile" else {method}
                if id(call) in chained:
                    methods = {chained[id(call)]}
                yield Expression(module.__name__, f"line {call.lineno}", pattern, frozenset(methods))


def _value(node: ast.expr, module: ModuleType) -> Any:
    try:
        return eval(compile(ast.Expression(node), "<expression>", "eval"), vars(module))
    except Exception:
        return None


def main() -> None:
    """Measure all, and say of which something is too slow."""
    found = find()
    for one in found.expressions:
        for method in sorted(one.methods):
            if slow := slowest(one.pattern, method):
                sys.stdout.write(json.dumps([one.module, one.name, method, slow[1]]) + "\n")
    wrong = [f"{one.module}.{one.name}" for one in found.expressions if repeats_groups_possessively(one.pattern)]
    sys.stdout.write(f"{json.dumps(wrong)}\n{json.dumps(found.of_the_run)}\n{len(found.expressions)}\n")


if __name__ == "__main__":
    main()
