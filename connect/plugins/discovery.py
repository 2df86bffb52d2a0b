"""Finding plug-ins by name: among our own, in installed packages, and in the folders of plugin.path.

An installed package names its plug-ins as entry points, in the groups `connect.sources`, `connect.sinks`,
`connect.converters`, `connect.header_converters`, `connect.transformations` and `connect.predicates`:

    [project.entry-points."connect.sinks"]
    OrdersSinkConnector = "orders.sink:OrdersSinkConnector"

A folder of plugin.path is a plug-in folder, if it directly holds Python code, or it holds plug-in folders. Packages in
it (`pip install --target`) name their plug-ins in the same way; loose modules are read as text, for classes that extend
those of `connect`. A plug-in folder is seen only by the processes that run its plug-ins, so two of them may bring two
versions of one library.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from connect.errors import PluginNotFoundError
from connect.plugins.builtin import BUILT_IN
from connect.plugins.jars import damaged_jars, java_folders, java_plugins
from connect.plugins.ref import PluginKind, PluginRef, aliases
from connect.plugins.source import Source
from connect.plugins.versions import VersionRange, order

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_GROUPS = {
    "connect.sources": PluginKind.SOURCE,
    "connect.sinks": PluginKind.SINK,
    "connect.converters": PluginKind.CONVERTER,
    "connect.header_converters": PluginKind.HEADER_CONVERTER,
    "connect.transformations": PluginKind.TRANSFORMATION,
    "connect.predicates": PluginKind.PREDICATE,
}


class Plugins:
    """The plug-ins of one worker. Nothing is read before a name is not among our own, or all are listed."""

    def __init__(self, plugin_path: Sequence[Path] = ()) -> None:
        self._plugin_path = plugin_path
        self._damaged: list[str] = []

    @classmethod
    def discover(cls, plugin_path: Sequence[Path | str] = ()) -> Plugins:
        """The plug-ins that are built in, installed, or in these folders."""
        return cls([Path(folder).absolute() for folder in plugin_path])

    def all(self, kind: PluginKind | None = None) -> list[PluginRef]:
        """Every plug-in, in order of kind and name."""
        order_of_kinds = list(PluginKind)
        found = [ref for ref in (*BUILT_IN, *self._found) if kind in (None, ref.kind)]
        return sorted(found, key=lambda ref: (order_of_kinds.index(ref.kind), ref.name, order(ref.version)))

    def others(self) -> list[PluginRef]:
        """Those that do not come with the runtime, in the order in which they are looked for."""
        return list(self._found)

    def of_java(self) -> list[PluginRef]:
        """Those of Java: the others are not looked at."""
        return [ref for path in self._plugin_path for folder in java_folders(path) for ref in java_plugins(folder)]

    @property
    def unreadable(self) -> list[str]:
        """Of each module in a folder of plugin.path whose text is not Python: its path, line, and what is wrong."""
        self._found  # noqa: B018 - reads them
        return [text for source in self._sources.values() for text in source.unreadable.values()]

    @property
    def damaged(self) -> list[str]:
        """Of each package whose metadata cannot be read, and each jar: the file, and what is wrong.

        Their plug-ins are not found.
        """
        self._found  # noqa: B018 - reads them
        folders = (folder for path in self._plugin_path for folder in java_folders(path))
        return [*self._damaged, *(text for folder in folders for text in damaged_jars(folder))]

    def find(
        self,
        kinds: PluginKind | Iterable[PluginKind],
        name: str,
        version_range: str | None = None,
        language: str | None = None,
    ) -> PluginRef:
        """The plug-in with this name: a Java class name, an alias, `module.Class` or `module:Class`.

        Of several versions the latest is taken. Whether the class can be loaded shows only in `load`. Blanks around a
        text do not count: many a line of a properties file ends with one, and Kafka Connect takes them away.

        Args:
            kinds: what it must be; a connector is a source or a sink.
            name: as in `connector.class`.
            version_range: `1.2` for exactly that, a range such as `[1.0,2.0)`, or None or `latest` for any (KIP-891).
            language: `python` or `java`, where both have the name. Without, our own classes come before all others
                that have their names; of others' one alone may have it.

        Raises:
            PluginNotFoundError: none, or more than one, has this name.
            ValueError: `version_range` is not a range.
        """
        wanted = frozenset([kinds] if isinstance(kinds, PluginKind) else kinds)
        name, version_range, language = name.strip(), (version_range or "").strip(), (language or "").strip() or None
        versions = None if version_range in ("", "latest") else VersionRange.parse(version_range)
        refused: list[PluginRef] = []
        for look in (lambda: BUILT_IN, lambda: self._found, lambda: self._by_path(wanted, name)):
            named = _named(name, [ref for ref in look() if ref.kind in wanted and language in (None, ref.language)])
            if found := [ref for ref in named if versions is None or ref.version in versions]:
                return _latest(name, found)
            refused += named
        if refused:
            there = ", ".join(dict.fromkeys(ref.version or _untold(ref) for ref in refused))
            raise PluginNotFoundError(f'"{name}" is here in version {there}, not in {version_range}.')
        raise PluginNotFoundError(self._not_found(wanted, name))

    @cached_property
    def _found(self) -> list[PluginRef]:
        from importlib.metadata import distributions

        found = [ref for package in distributions() for ref in self._of_package(package, None)]
        for folder, source in self._sources.items():
            packages = list(distributions(path=[str(folder)]))
            found += [ref for package in packages for ref in self._of_package(package, folder)]
            found += _in_text(folder, source, {name for package in packages for name in self._at_top_of(package)})
        return list(dict.fromkeys([*found, *self.of_java()]))

    def _of_package(self, package: Distribution, folder: Path | None) -> list[PluginRef]:
        try:
            return list(_entry_points(package, folder))
        except Exception as error:  # metadata is what others have written; the other packages are there all the same
            self._notes_damage(package, "entry_points.txt", error)
            return []

    def _at_top_of(self, package: Distribution) -> set[str]:
        """The names at the top of its folder that a package has installed."""
        try:
            return {file.parts[0] for file in package.files or ()}
        except Exception as error:
            self._notes_damage(package, "RECORD", error)
            return set()

    def _notes_damage(self, package: Distribution, file: str, error: Exception) -> None:
        place = getattr(package, "_path", None) or package.locate_file("")
        self._damaged.append(f"{place}/{file}: {type(error).__name__}: {error}")

    @cached_property
    def _sources(self) -> dict[Path, Source]:
        return {folder: Source(folder) for path in self._plugin_path for folder in plugin_folders(path)}

    def _by_path(self, wanted: frozenset[PluginKind], name: str) -> Iterator[PluginRef]:
        """The class that a name spells, though nobody declares it."""
        module, _, cls = name.partition(":") if ":" in name else name.rpartition(".")
        places: list[tuple[Path | None, Source]] = [*self._sources.items(), (None, Source())]
        for folder, source in places:
            if module and source.has(module):
                # The text does not tell of a class that is made by a call; then it is what it is asked for to be.
                kind = source.kind(module, cls) or (next(iter(wanted)) if len(wanted) == 1 else None)
                if kind:
                    yield PluginRef(
                        name=f"{module}.{cls}",
                        kind=kind,
                        target=f"{module}:{cls}",
                        aliases=aliases(cls, kind),
                        folder=str(folder) if folder else None,
                        version=source.version(module, cls),
                    )
                return

    def _not_found(self, wanted: frozenset[PluginKind], name: str) -> str:
        what = " or ".join(sorted(kind.value.replace("_", " ") for kind in wanted))
        others = [ref for ref in self.all() if ref.kind not in wanted]
        if meant := _named(name, others):
            return f'"{name}" is a {meant[0].kind.value.replace("_", " ")}, not a {what}.'
        known = {text for ref in self.all() if ref.kind in wanted for text in (ref.name, *ref.aliases)}
        near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.75)
        of_java = [path for path in self._plugin_path if java_folders(path)]
        folders = list(map(str, dict.fromkeys([*self._sources, *of_java])))
        folders = folders or ["no folder: plugin.path names none that holds plug-ins"]
        parts = [
            f'There is no {what} "{name}".',
            *([f"Did you mean {' or '.join(near)}?"] if near else []),
            f"Looked in the runtime, in installed packages and in {', '.join(folders)}.",
            *(f"Could not read {text}." for text in (*self.unreadable, *self.damaged)),
            *(
                [f"{here} lies in the current folder: set plugin.path=. to use it."]
                if (here := _in_this_folder(name))
                else []
            ),
        ]
        what_to_do = "Install the package that brings it, or add its folder to plugin.path;"
        return " ".join([*parts, what_to_do, "`connect plugins list` shows what there is."])


def _named(name: str, refs: Sequence[PluginRef]) -> list[PluginRef]:
    """Those with this full name; if there are none, those with this alias."""
    return [ref for ref in refs if ref.is_named(name)] or [ref for ref in refs if name in ref.aliases]


def _latest(name: str, found: Sequence[PluginRef]) -> PluginRef:
    if len(names := sorted({ref.name for ref in found})) > 1:
        raise PluginNotFoundError(f'"{name}" is short for {" and for ".join(names)}. Write the full name.')
    if len({ref.language for ref in found}) > 1:
        places = " and ".join(f"{ref.language} in {ref.folder or 'an installed package'}" for ref in found)
        raise PluginNotFoundError(f'"{name}" is there twice: {places}. Set connector.language, or remove one.')
    return max(found, key=lambda ref: order(ref.version))  # the first of equals: in the order of plugin.path


def _untold(ref: PluginRef) -> str:
    where = " (a jar says it in its manifest: Implementation-Version)" if ref.language == "java" else ""
    return f"one that says no version{where}"


def _in_this_folder(name: str) -> str | None:
    """The module of the current folder that a newcomer means by `module.Class`."""
    module = re.split(r"[.:]", name)[0]
    return next((path for path in (f"{module}.py", f"{module}/__init__.py") if os.path.isfile(path)), None)  # noqa: PTH113 - says no to a name that no file can have


def _entry_points(package: Distribution, folder: Path | None) -> Iterator[PluginRef]:
    for point in package.entry_points:
        if kind := _GROUPS.get(point.group):
            # A name with dots is the Java class that this one stands for.
            name = point.name if "." in point.name else point.value.replace(":", ".")
            yield PluginRef(
                name=name,
                kind=kind,
                target=point.value,
                aliases=tuple(dict.fromkeys([*aliases(name, kind), *aliases(point.name, kind)])),
                folder=str(folder) if folder else None,
                version=package.version,
            )


def _in_text(folder: Path, source: Source, packaged: Container[str]) -> Iterator[PluginRef]:
    for module, cls, kind in source.plugins(but=packaged):
        yield PluginRef(
            name=f"{module}.{cls}",
            kind=kind,
            target=f"{module}:{cls}",
            aliases=aliases(cls, kind),
            folder=str(folder),
            version=source.version(module, cls),
        )


def plugin_folders(path: Path) -> list[Path]:
    """The plug-in folders of a folder of plugin.path: itself, or those in it.

    Beside files without metadata those count into which pip has installed: other folders may be their tests.
    """
    if _is_installed(path):
        return [path]
    folders = sorted(path.glob("*/"))
    if _holds_code(path):
        return [path, *filter(_is_installed, folders)]
    return [folder for folder in folders if _holds_code(folder)]


def _is_installed(folder: Path) -> bool:
    return next(folder.glob("*.dist-info"), None) is not None


def _holds_code(folder: Path) -> bool:
    return any(True for pattern in ("*.dist-info", "*.py", "*/__init__.py") for _ in folder.glob(pattern))
