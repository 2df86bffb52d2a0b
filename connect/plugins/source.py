"""Reads the classes of a module from its source, so that a plug-in's kind is known without running its code."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from connect.plugins.ref import PluginKind

# The classes that plug-ins extend, in the modules that offer them.
_SEAMS = {
    "SourceConnector": PluginKind.SOURCE,
    "SinkConnector": PluginKind.SINK,
    "Converter": PluginKind.CONVERTER,
    "HeaderConverter": PluginKind.HEADER_CONVERTER,
    "Transformation": PluginKind.TRANSFORMATION,
    "Predicate": PluginKind.PREDICATE,
    "ClientConfigOverridePolicy": PluginKind.OVERRIDE_POLICY,
    "ConfigProvider": PluginKind.CONFIG_PROVIDER,
}


@dataclass
class _Module:
    """The classes of a module, and the origins of its imported names."""

    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)


class Source:
    """Modules read as text, from one plug-in folder before installed packages.

    Attributes:
        unreadable: the syntax error of each module that is not Python.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._modules: dict[str, _Module | None] = {}
        self.unreadable: dict[str, str] = {}

    def has(self, module: str) -> bool:
        """Whether there is such a module in the folder; without a folder, whether it is installed."""
        return self._locate(module, within=self._folder is not None) is not None

    def kind(self, module: str, name: str) -> PluginKind | None:
        """The kind of a class, None when the text does not show it."""
        return self._kind(f"{module}.{name}", frozenset())

    def version(self, module: str, name: str) -> str | None:
        """The constant that the class has as `version`."""
        found = self._read(module)
        for node in found.classes[name].body if found and name in found.classes else ():
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id="version")], value=ast.Constant(value=str(value)))
                    | ast.AnnAssign(target=ast.Name(id="version"), value=ast.Constant(value=str(value)))
                ):
                    return value
        return None

    def plugins(self, but: Container[str] = ()) -> Iterator[tuple[str, str, PluginKind]]:
        """Module, class and kind of each plug-in that the folder's modules define, except `but` at its top."""
        assert self._folder is not None
        for path in sorted(_python_files(self._folder, but)):
            parts = path.relative_to(self._folder).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found = self._read(module)
            for name, node in found.classes.items() if found else ():
                kind = None if name.startswith("_") or _abstract(node) else self.kind(module, name)
                if kind:
                    yield module, name, kind

    def _kind(self, dotted: str, seen: frozenset[str]) -> PluginKind | None:
        module, _, name = dotted.rpartition(".")
        if name in _SEAMS and (
            module in {"connect", "connect.settings.providers"} or f"{module}.".startswith("connect.api.")
        ):
            return _SEAMS[name]
        if dotted in seen or not (found := self._read(module)):
            return None
        seen |= {dotted}
        if name in found.classes:
            came_from = [_qualified(base, module, found) for base in found.classes[name].bases]
        elif name in found.names:
            came_from = [found.names[name]]
        else:
            came_from = [f"{star}.{name}" for star in found.stars]
        return next(filter(None, (self._kind(origin, seen) for origin in came_from if origin)), None)

    def _read(self, module: str) -> _Module | None:
        if module not in self._modules:
            path = self._locate(module)
            self._modules[module] = None
            if path is None or path.suffix != ".py":
                return None
            try:
                tree = ast.parse(path.read_bytes(), str(path))
            except (SyntaxError, ValueError, OSError) as error:
                line = getattr(error, "lineno", None)
                self.unreadable[module] = f"{path}{f':{line}' if line else ''}: {getattr(error, 'msg', error)}"
                return None
            self._modules[module] = _outline(tree, module, is_package=path.name == "__init__.py")
        return self._modules[module]

    def _locate(self, module: str, *, within: bool = False) -> Path | None:
        parts = module.split(".")
        if not all(part.isidentifier() for part in parts):
            return None
        if self._folder and (path := _walk([self._folder], parts)):
            return path
        return None if within else _installed(parts)


def _installed(parts: list[str]) -> Path | None:
    try:
        spec = importlib.util.find_spec(parts[0])  # of a top-level name: imports nothing
    except (ValueError, ImportError):
        return None
    if spec is None:
        return None
    if len(parts) > 1:
        return _walk([Path(place) for place in spec.submodule_search_locations or ()], parts[1:])
    return Path(spec.origin) if spec.has_location and spec.origin else None


def _walk(places: Iterable[Path], parts: list[str]) -> Path | None:
    for part in parts[:-1]:
        places = [place / part for place in places if (place / part).is_dir()]
    for place in places:
        for path in (place / parts[-1] / "__init__.py", place / f"{parts[-1]}.py"):
            if path.is_file():
                return path
        for path in place.glob(f"{parts[-1]}.*.so"):
            return path
    return None


def _python_files(folder: Path, but: Container[str]) -> Iterator[Path]:
    yield from (path for path in folder.glob("*.py") if path.name not in but)
    for package in folder.glob("*/__init__.py"):
        if package.parent.name not in {"tests", "test"} and package.parent.name not in but:
            yield from package.parent.rglob("*.py")


def _abstract(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base) in {"ABC", "abc.ABC"} for base in node.bases)


def _outline(tree: ast.Module, module: str, *, is_package: bool) -> _Module:
    found = _Module()
    for node in _statements(tree.body):
        match node:
            case ast.ClassDef():
                found.classes[node.name] = node
            case ast.Import():
                for alias in node.names:
                    first = alias.name.partition(".")[0]
                    found.names[alias.asname or first] = alias.name if alias.asname else first
            case ast.ImportFrom():
                origin = _origin(node, module, is_package=is_package)
                for alias in node.names:
                    if alias.name == "*":
                        found.stars.append(origin)
                    else:
                        found.names[alias.asname or alias.name] = f"{origin}.{alias.name}"
    return found


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from _statements(node.body)
            yield from _statements(node.orelse)
            for handler in getattr(node, "handlers", ()):
                yield from _statements(handler.body)


def _origin(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".")
    up = node.level - (1 if is_package else 0)
    package = package[: len(package) - up] if up else package
    return ".".join([*package, *([node.module] if node.module else [])])


def _qualified(base: ast.expr, module: str, found: _Module) -> str | None:
    """The full name of a base class: through the module's imports, or of its own."""
    if isinstance(base, ast.Subscript):  # Base[T]
        base = base.value
    text = ast.unparse(base)
    first, _, rest = text.partition(".")
    if first in found.classes:
        return f"{module}.{text}"
    if first in found.names:
        return f"{found.names[first]}.{rest}" if rest else found.names[first]
    return f"{module}.{text}" if found.stars else None
