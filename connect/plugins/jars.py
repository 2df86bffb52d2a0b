"""Finds Java plug-ins in the folders of plugin.path, as Kafka Connect does, without a JVM or loading their code.

A folder of plugin.path holds plug-ins: folders of jars or classes, and jars with all their dependencies. Each is
visible only to the JVMs that run it, with a class loader of its own. Its plug-ins are those in its manifests
(`META-INF/services`, KIP-898); without any, those of its classes that extend Kafka Connect's. Where a jar that has a
manifest lies beside one of a connector that has none, connectors and converters are found by the names of classes, too.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from connect.plugins.class_files import ClassFile, read_class
from connect.plugins.ref import JAVA, PluginKind, PluginRef, aliases

_API: Final = "org.apache.kafka.connect."
#: What a plug-in extends or implements, by its kind.
_BASES: Final[Mapping[str, PluginKind]] = {
    f"{_API}source.SourceConnector": PluginKind.SOURCE,
    f"{_API}sink.SinkConnector": PluginKind.SINK,
    f"{_API}storage.Converter": PluginKind.CONVERTER,
    f"{_API}storage.HeaderConverter": PluginKind.HEADER_CONVERTER,
    f"{_API}transforms.Transformation": PluginKind.TRANSFORMATION,
    f"{_API}transforms.predicates.Predicate": PluginKind.PREDICATE,
    f"{_API}connector.policy.ConnectorClientConfigOverridePolicy": PluginKind.OVERRIDE_POLICY,
    "org.apache.kafka.common.config.provider.ConfigProvider": PluginKind.CONFIG_PROVIDER,
}
#: The folder of a jar that has its manifests, a file for each interface.
SERVICES: Final = "META-INF/services/"
_MOST_CLASSES: Final = 200_000
#: How the names of plug-ins end that are found by them.
_TOLD_BY_NAME: Final = ("Connector", "Converter")
#: What is raised where a jar is damaged.
_UNREADABLE: Final = (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
_VERSION: Final = re.compile(rb"^(?:Implementation-Version|Bundle-Version): *(\S+)", re.MULTILINE)


def java_folders(path: Path) -> list[Path]:
    """The Java plug-ins of a folder of plugin.path, each a folder or a jar. A jar in plugin.path is one itself."""
    if path.suffix == ".jar":
        return [path]
    with suppress(OSError):
        return [each for each in sorted(path.iterdir()) if each.suffix == ".jar" or _holds_java(each)]
    return []


def java_plugins(folder: Path) -> list[PluginRef]:
    """The plug-ins of one folder or jar. Unreadable parts are left out."""
    return list(_found(folder, stamp_of(folder)))


def jars_of(folder: Path) -> list[Path]:
    """The class path of a plug-in: its jars, or the folder of its classes."""
    if folder.is_file():
        return [folder]
    found = sorted(folder.rglob("*.jar"))
    return found or [folder]


def damaged_jars(folder: Path) -> Iterator[str]:
    """Of each jar of a plug-in that cannot be read: its path, and what is wrong."""
    for jar in filter(Path.is_file, jars_of(folder)):
        try:
            zipfile.ZipFile(jar).close()
        except _UNREADABLE as error:
            yield f"{jar}: {type(error).__name__}: {error}"


def interface_of(kind: PluginKind) -> str:
    """What the plug-ins of a kind extend or implement, by its full name."""
    return next(name for name, each in _BASES.items() if each is kind)


def _holds_java(folder: Path) -> bool:
    return any(
        True for pattern in ("*.jar", "*/*.jar", "*.class", "*/*.class", "*/*/*.class") for _ in folder.glob(pattern)
    )


def stamp_of(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """A value that changes when the plug-in does."""
    stamps = []
    for each in jars_of(folder):
        with suppress(OSError):
            stat = each.stat()
            stamps.append((str(each), stat.st_mtime_ns, stat.st_size))
    return tuple(stamps)


@lru_cache(maxsize=256)
def _found(folder: Path, stamp: tuple[tuple[str, int, int], ...]) -> tuple[PluginRef, ...]:
    jars = [Path(path) for path, _, _ in stamp]
    found = {ref.name: ref for ref in _by_manifest(folder, jars)}
    more = list(_by_name(folder, jars, found) if found else _by_class(folder, jars))
    found |= {ref.name: ref for ref in more}
    return tuple(sorted(found.values(), key=lambda ref: (ref.kind.value, ref.name)))


def _by_manifest(folder: Path, jars: list[Path]) -> Iterator[PluginRef]:
    for jar in jars:
        for name, data in _entries(jar, lambda name: name.startswith(SERVICES)):
            kind = _BASES.get(name.removeprefix(SERVICES))
            if kind is None:
                continue
            for line in data.decode("utf-8", "replace").splitlines():
                if cls := line.partition("#")[0].strip():
                    yield _ref(cls, kind, folder, _version(jar))


def in_manifests(folder: Path) -> set[str]:
    """The classes that the manifests of a plug-in name."""
    return {ref.name for ref in _by_manifest(folder, jars_of(folder))}


def _by_name(folder: Path, jars: list[Path], named: Container[str]) -> Iterator[PluginRef]:
    """Connectors and converters, as their names say, which no manifest names. Few classes are read."""
    with ExitStack() as opened:
        classes: dict[str, tuple[Path, zipfile.ZipFile, str]] = {}
        for jar in filter(Path.is_file, jars):
            with suppress(*_UNREADABLE):
                archive = opened.enter_context(zipfile.ZipFile(jar))
                for entry in archive.namelist():
                    if entry.endswith(".class") and "META-INF" not in entry:
                        classes.setdefault(entry.removesuffix(".class").replace("/", "."), (jar, archive, entry))

        @cache
        def read(name: str) -> ClassFile | None:
            with suppress(ValueError, *_UNREADABLE):
                _, archive, entry = classes[name]
                return read_class(archive.read(entry))
            return None

        known: dict[str, PluginKind | None] = dict(_BASES)

        def kind_of(name: str) -> PluginKind | None:
            if name not in known:
                known[name] = None  # a circle ends
                found = read(name) if name in classes else None
                known[name] = next(filter(None, map(kind_of, found.parents)), None) if found else None
            return known[name]

        for name, (jar, _, _) in classes.items():
            if not name.endswith(_TOLD_BY_NAME) or name in named:
                continue
            found = read(name)
            if found is not None and found.concrete and (kind := kind_of(name)):
                yield _ref(name, kind, folder, _version(jar))


def _by_class(folder: Path, jars: list[Path]) -> Iterator[PluginRef]:
    classes: dict[str, tuple[ClassFile, Path]] = {}
    for jar in jars:
        for _, data in _entries(jar, lambda name: name.endswith(".class") and "META-INF" not in name):
            with suppress(ValueError):
                read = read_class(data)
                classes.setdefault(read.name, (read, jar))
            if len(classes) > _MOST_CLASSES:
                return
    known: dict[str, PluginKind | None] = dict(_BASES)

    def kind_of(name: str) -> PluginKind | None:
        if name not in known:
            known[name] = None  # a circle ends
            if name in classes:
                kinds = map(kind_of, classes[name][0].parents)
                known[name] = next((kind for kind in kinds if kind), None)
        return known[name]

    for name, (read, jar) in classes.items():
        if read.concrete and (kind := kind_of(name)):
            yield _ref(name, kind, folder, _version(jar))


def _ref(name: str, kind: PluginKind, folder: Path, version: str | None) -> PluginRef:
    target = f"{JAVA}{kind.value}:{name}"
    return PluginRef(
        name=name, kind=kind, target=target, aliases=aliases(name, kind), folder=str(folder), version=version
    )


def _version(jar: Path) -> str | None:
    for _, data in _entries(jar, "META-INF/MANIFEST.MF".__eq__):
        if found := _VERSION.search(data):
            return found[1].decode("utf-8", "replace")
    return None


def _entries(place: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Files of a jar, or of a folder of classes, by names."""
    with suppress(*_UNREADABLE):
        if place.is_dir():
            for file in sorted(place.rglob("*")):
                name = file.relative_to(place).as_posix()
                if wanted(name) and file.is_file():
                    yield name, file.read_bytes()
            return
        with zipfile.ZipFile(place) as archive:
            for info in archive.infolist():
                if wanted(info.filename) and not info.is_dir():
                    yield info.filename, archive.read(info)
