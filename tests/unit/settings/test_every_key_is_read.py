"""A key that is declared is read somewhere, or its description says that it changes nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("connect", "connectors", "transforms", "rest", "spark_sink")
ROOT = Path(__file__).parents[3]
#: How a description says that only one value is known, or that none changes anything.
SAYS_SO = re.compile(r"[Ww]ithout effect|[Nn]o effect|\bOnly\b|Not supported")
#: What a definition of a key has beside its name: by two of them a call is one.
DEFINITION = {"doc", "default", "importance", "group", "validator"}
#: Of a text that is made at run time only a part of this length says which key it is.
TELLING = 6


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield file.relative_to(ROOT), ast.parse(file.read_text("utf-8"))


def definition(node: ast.AST) -> tuple[ast.Constant, str] | None:
    """The name of the key that a call defines, and its description."""
    if not isinstance(node, ast.Call) or not node.args or len(DEFINITION & {word.arg for word in node.keywords}) < 2:
        return None
    name = node.args[0]
    doc = next((word.value for word in node.keywords if word.arg == "doc"), None)
    if doc is None or not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return None
    return name, ast.unparse(doc)


def test_every_key_is_read_or_says_that_it_is_not() -> None:
    defined: dict[str, list[tuple[str, str]]] = {}
    texts: set[str] = set()
    made: set[str] = set()
    attributes: dict[str, set[str]] = {}
    loaded: set[str] = set()
    shared: dict[str, set[str]] = {}  # keys by the names of a module that declares them for the options of several
    takes: list[tuple[str, str]] = []  # what options call them, and those names
    for file, tree in modules():
        names, changed = set(), set()
        for node in ast.walk(tree):  # a call comes before its arguments
            if isinstance(node, ast.ClassDef):  # of `Options`, perhaps: a key is read as the attribute that declares it
                for each in node.body:
                    if isinstance(each, ast.Assign) and (found := definition(each.value)):
                        attributes.setdefault(found[0].value, set()).add(ast.unparse(each.targets[0]))
                    elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Attribute):
                        takes.append((ast.unparse(each.targets[0]), each.value.attr))
                        changed.add(each.value)
            if isinstance(node, ast.Module):
                for each in node.body:
                    if isinstance(each, ast.Assign) and (found := definition(each.value)):
                        shared.setdefault(ast.unparse(each.targets[0]), set()).add(found[0].value)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.attr == "replaced":
                changed.add(node.value)
            elif isinstance(node, ast.Attribute) and node not in changed:
                loaded.add(node.attr)
            if found := definition(node):
                name, doc = found
                names.add(name)
                defined.setdefault(name.value, []).append((f"{file}:{name.lineno}", doc))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in names:
                texts.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "" for part in node.values]
                if any(len(part) >= TELLING for part in parts):
                    made.add("".join(re.escape(part) if part else r".+" for part in parts))
    for attribute, name in takes:
        for key in shared.get(name, ()):
            attributes.setdefault(key, set()).add(attribute)
    assert len(defined) > 500
    patterns = [re.compile(pattern) for pattern in made]
    unread = [
        f"{place} {key}: nobody reads it. Read it, or say in its description that it is without effect"
        for key, places in sorted(defined.items())
        if key not in texts
        and not attributes.get(key, set()) & loaded
        and not any(pattern.fullmatch(key) for pattern in patterns)
        for place, doc in places
        if not SAYS_SO.search(doc)
    ]
    assert not unread, "\n" + "\n".join(unread)
