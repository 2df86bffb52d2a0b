"""`connect init plugin`: a package for a new plug-in, which installs, runs and passes its tests as it is."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from connect import __version__
from connect.cli._connectors import print_json
from connect.cli._exit import INVALID, OK
from connect.plugins import PluginKind, Plugins

HELP = """\
Write a package for a plug-in of your own: code with settings, tests by connect.testing, an entry point by which workers
find it, a README and a workflow for continuous integration. It works as it is; change it to what you need.

examples:
  connect init plugin orders --kind source             a source connector, in the folder orders
  connect init plugin my-format --kind converter
  connect init plugin mask-names --kind transformation --folder /src/mask

  cd orders && pip install -e '.[test]' && pytest      then"""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class _Kind(NamedTuple):
    """The names of a kind of plug-in: its entry points' group, in text, and the suffix of its class."""

    group: str
    words: str
    suffix: str


_KINDS: Final = {
    "source": _Kind("connect.sources", "source connector", "SourceConnector"),
    "sink": _Kind("connect.sinks", "sink connector", "SinkConnector"),
    "transformation": _Kind("connect.transformations", "transformation", ""),
    "converter": _Kind("connect.converters", "converter", "Converter"),
}
#: Each template, and where the file goes.
_COMMON: Final = {
    "pyproject.toml.txt": "pyproject.toml",
    "README.md.txt": "README.md",
    "gitignore.txt": ".gitignore",
    "test.yml.txt": ".github/workflows/test.yml",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare plugin."""
    actions = parser.add_subparsers(metavar="WHAT", title="what", required=True)
    plugin = actions.add_parser("plugin", help="a package with a connector, a transformation or a converter")
    plugin.add_argument("name", metavar="NAME", help="of the package: small letters, digits and dashes")
    plugin.add_argument("--kind", choices=list(_KINDS), required=True, help="what it is")
    plugin.add_argument("--folder", metavar="DIR", help="where to write it (default: ./NAME)")
    plugin.add_argument("--json", action="store_true", help="print what was written as JSON")
    plugin.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Write the package. Returns the exit code."""
    folder = Path(args.folder or args.name)
    if problem := _problem(args.name, args.kind, folder):
        print(f"connect: {problem}", file=sys.stderr)
        return INVALID
    written = []
    for place, text in package(args.name, args.kind).items():
        file = folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        written.append(str(file))
    if args.json:
        print_json({"name": args.name, "kind": args.kind, "folder": str(folder), "files": written})
    else:
        print("\n".join(written))
        print(f"\nNext: cd {folder} && pip install -e '.[test]' && pytest")
    return OK


def package(name: str, kind: str) -> dict[str, str]:
    """The files of a package, by their paths in its folder.

    Args:
        name: of the package.
        kind: one of source, sink, transformation and converter.
    """
    of_kind, module = _KINDS[kind], name.replace("-", "_")
    cls = "".join(part.capitalize() for part in name.split("-"))
    words = {
        "TASK": f"{cls}Task",
        "CLASS": f"{cls.removesuffix('Converter')}{of_kind.suffix}" if kind == "converter" else cls + of_kind.suffix,
        "MODULE": module,
        "NAME": name,
        "KIND": of_kind.words,
        "GROUP": of_kind.group,
        "RUNTIME": __version__,
    }
    words["USAGE"] = _filled(_template(kind, "usage.txt"), words).rstrip("\n")
    found = {place: _filled(_template("common", template), words) for template, place in _COMMON.items()}
    found[f"src/{module}/__init__.py"] = _filled(_template(kind, "module.py.txt"), words)
    found[f"src/{module}/py.typed"] = ""
    found[f"tests/test_{module}.py"] = _filled(_template(kind, "tests.py.txt"), words)
    return found


def _problem(name: str, kind: str, folder: Path) -> str | None:
    module = name.replace("-", "_")
    if not _NAME.fullmatch(name) or keyword.iskeyword(module) or module in sys.stdlib_module_names:
        return f'"{name}" is not a name for a package. Write small letters, digits and dashes, as in my-orders.'
    if module in {"connect", "connectors", "transforms", "rest", "spark_sink"}:
        return f'"{name}" is a package of connect-runtime. Choose another name.'
    installed = find_spec(module)
    if installed is not None and installed.origin is not None:  # a folder that happens to be here has none
        return f'"{name}" would hide the package {module}, which is installed. Choose another name.'
    if folder.is_dir() and any(folder.iterdir()):
        return f"{folder} is there already, and not empty. Name another folder with --folder."
    if folder.exists() and not folder.is_dir():
        return f"{folder} is a file. Name another folder with --folder."
    return _taken(name, kind)


def _taken(name: str, kind: str) -> str | None:
    """Whether the class could be confused with an existing one."""
    wanted: Any = {"source": PluginKind.SOURCE, "sink": PluginKind.SINK}.get(kind) or PluginKind(kind)
    cls = re.search(r'^(\w+) = "', package(name, kind)["pyproject.toml"].partition("entry-points")[2], re.MULTILINE)
    assert cls is not None
    known = {alias for ref in Plugins.discover().all(wanted) for alias in ref.aliases}
    return f'"{cls[1]}" is the name of a {kind} that is installed. Choose another name.' if cls[1] in known else None


def _template(*place: str) -> str:
    return files("connect.cli").joinpath("_scaffold", *place).read_text(encoding="utf-8")


def _filled(text: str, words: dict[str, str]) -> str:
    """A template with its words in capitals replaced. None of them is part of another word there."""
    for word, meant in words.items():
        text = text.replace(word, meant)
    return text
