"""The folder that Kafka Connect's class loaders are given as `plugin.path`: some plug-ins and nothing else.

For a plug-in without manifests (KIP-898) Kafka Connect looks into every class of every jar, its own as well: eleven
seconds of CPU in each JVM. What the plug-in has is known here (`connect.plugins.jars`), so a jar with manifests is laid
beside its jars, and manifests are laid among its classes.
"""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from connect.jvm.cache import filled_once
from connect.plugins.jars import SERVICES, in_manifests, interface_of, jars_of, java_plugins, stamp_of

_MANIFESTS: Final = "manifests-of-connect-runtime.jar"


def plugin_path(places: Sequence[Path]) -> Path:
    """A folder with links to these plug-ins: Kafka Connect scans all that lies beside one."""

    def link_all(folder: Path) -> None:
        for number, place in enumerate(places):
            link = folder / f"{number}-{place.name}"
            if _has_manifests(place) or not place.exists():
                link.symlink_to(place)
            elif _has_jars(place):
                _link_with_manifests(place, link.with_suffix(""))
            else:
                _link_classes(place, link)

    content = "\n".join(f"{place} {'' if _has_manifests(place) else _stamp(place)}" for place in places)
    return filled_once("java-plugins", content, link_all)


def _stamp(place: Path) -> str:
    """Changes with the plug-in, or with the names in its folder of classes, which are read where they lie."""
    names = [] if _has_jars(place) else [ref.name for ref in java_plugins(place)]
    return f"{stamp_of(place)} {names}"


def _link_with_manifests(place: Path, folder: Path) -> None:
    folder.mkdir()
    for number, jar in enumerate(jars_of(place)):
        (folder / f"{number}-{jar.name}").symlink_to(jar)
    with zipfile.ZipFile(folder / _MANIFESTS, "w") as archive:
        for interface, names in _manifests(place):
            archive.writestr(SERVICES + interface, names)


def _link_classes(place: Path, folder: Path) -> None:
    written = folder / SERVICES
    written.mkdir(parents=True)
    for source, target in ((place, folder), (place / "META-INF", folder / "META-INF"), (place / SERVICES, written)):
        for each in source.glob("*"):
            if not (target / each.name).exists():
                (target / each.name).symlink_to(each)
    for interface, names in _manifests(place):
        (written / interface).unlink(missing_ok=True)  # the plug-in's own names none
        (written / interface).write_text(names, encoding="utf-8")


def _manifests(place: Path) -> Iterator[tuple[str, str]]:
    """The manifest of each interface that a plug-in has classes of."""
    lines: dict[str, list[str]] = defaultdict(list)
    for ref in java_plugins(place):
        lines[interface_of(ref.kind)].append(ref.name)
    for interface, names in lines.items():
        yield interface, "\n".join(names) + "\n"


def _has_jars(place: Path) -> bool:
    return any(each.is_file() for each in jars_of(place))


@cache
def _has_manifests(place: Path) -> bool:
    """Whether its manifests name all that is found in it."""
    named = in_manifests(place)
    return bool(named) and all(ref.name in named for ref in java_plugins(place))
