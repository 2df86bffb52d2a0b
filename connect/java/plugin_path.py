"""The folder that Kafka Connect's class loaders are given as `plugin.path`: some plug-ins and nothing else.

For a plug-in without manifests (KIP-898) Kafka Connect looks into every class of every jar, its own as well: eleven
seconds of CPU in each JVM. What the plug-in has is known here (`connect.plugins.jars`), so a jar with manifests is laid
beside its jars.
"""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Sequence
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
            if _has_manifests(place) or not _has_jars(place):
                link.symlink_to(place)
            else:
                _link_with_manifests(place, link.with_suffix(""))

    content = "\n".join(f"{place} {'' if _has_manifests(place) else stamp_of(place)}" for place in places)
    return filled_once("java-plugins", content, link_all)


def discovery(places: Sequence[Path]) -> str:
    """How Kafka Connect is to find the plug-ins: it has to load classes only where they lie about by themselves."""
    return "service_load" if all(_has_manifests(place) or _has_jars(place) for place in places) else "only_scan"


def _link_with_manifests(place: Path, folder: Path) -> None:
    folder.mkdir()
    for number, jar in enumerate(jars_of(place)):
        (folder / f"{number}-{jar.name}").symlink_to(jar)
    lines: dict[str, list[str]] = defaultdict(list)
    for ref in java_plugins(place):
        lines[interface_of(ref.kind)].append(ref.name)
    with zipfile.ZipFile(folder / _MANIFESTS, "w") as archive:
        for interface, names in lines.items():
            archive.writestr(SERVICES + interface, "\n".join(names) + "\n")


def _has_jars(place: Path) -> bool:
    return any(each.is_file() for each in jars_of(place))


@cache
def _has_manifests(place: Path) -> bool:
    """Whether its manifests name all that is found in it."""
    named = in_manifests(place)
    return bool(named) and all(ref.name in named for ref in java_plugins(place))
