"""Our threads leave the private names of `threading.Thread` alone, also those that a newer Python gave it.

Python 3.14 keeps the context that a thread runs in as `_context`: whoever kept something else there never ran.
"""

import ast
import inspect
import textwrap
import threading
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("connect", "connectors", "transforms", "rest", "spark_sink", "bench")
# Of Python 3.13 and 3.14, so that an older one finds them too.
LATER = {"_context", "_handle", "_os_thread_handle"}


def assigned(tree: ast.AST) -> set[str]:
    """What a class keeps in `self`, and its methods."""
    kept = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    return kept | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_no_thread_of_ours_hides_a_private_name_of_pythons_own() -> None:
    thread = ast.parse(textwrap.dedent(inspect.getsource(threading.Thread)))
    theirs = {name for name in assigned(thread) | LATER if name.startswith("_") and not name.startswith("__")}
    seen, hidden = 0, []
    for file in (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Thread") for base in node.bases):
                seen += 1
                hidden += [f"{file.relative_to(ROOT)}: {node.name}.{name}" for name in sorted(assigned(node) & theirs)]
    assert seen >= 3
    assert hidden == []
