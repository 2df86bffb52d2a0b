"""Third-party plug-ins: which are found, which twice, and which can be imported, in a process of its own."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from connect.cli._doctor.finding import Finding, error, ok, warning
from connect.cli._doctor.subject import Subject
from connect.cli._table import counted
from connect.herder.plugin_settings import LISTED, described
from connect.plugins import PluginRef, Plugins
from connect.plugins.discovery import plugin_folders
from connect.plugins.jars import java_folders
from connect.worker.hosts import ConnectorCallError, ConnectorHosts
from connect.worker.processes import start_server

_IMPORT_S: Final = 30.0


def check(subject: Subject) -> Iterator[Finding]:
    """The folders of plugin.path, and every plug-in that does not come with the runtime."""
    named = [] if subject.worker is None else subject.worker.config["plugin.path"] or []
    folders = [Path(folder).absolute() for folder in named]
    plugins = Plugins.discover(folders)
    for folder in folders:
        yield from _folder(subject, folder, plugins)
    for text in plugins.unreadable:
        place, _, problem = text.partition(": ")
        yield error(place, f"its text is not Python: {problem}.", "Correct it, or remove the file.")
    for text in plugins.damaged:
        place, _, problem = text.partition(": ")
        yield warning(place, f"it is damaged: {problem}. Plug-ins of its package are not found.", "Install it again.")
    others = plugins.others()
    yield from _twice(others)
    yield from _imports(others, [str(folder) for folder in folders])
    if not others:
        yield ok("plug-ins", f"{len(plugins.all())} come with the runtime, and none of others is installed.")


def _folder(subject: Subject, folder: Path, plugins: Plugins) -> Iterator[Finding]:
    what = f"{subject.where('plugin.path')}: {folder}"
    if not folder.is_dir():
        return  # which is said of the file
    held = list(map(str, dict.fromkeys([*plugin_folders(folder), *java_folders(folder)])))
    count = sum(ref.folder in held for ref in plugins.others())
    if not held:
        advice = "Name the folder whose folders hold plug-ins: pip install --target=FOLDER/orders orders-plugin"
        yield warning(what, "it holds no Python code and no jars.", advice)
    elif not count:
        advice = "A plug-in is a class that extends one of connect's, or an entry point of a package."
        yield warning(what, f"no plug-in is found in it ({counted(len(held), 'folder')} with code).", advice)
    else:
        yield ok(what, f"{counted(count, 'plug-in')} in {counted(len(held), 'folder')}.")


def _twice(refs: Sequence[PluginRef]) -> Iterator[Finding]:
    by_name = defaultdict(list)
    for ref in refs:
        by_name[ref.kind, ref.name, ref.version].append(ref)
    for (kind, name, version), same in by_name.items():
        if len(same) > 1:
            in_version = f"in version {version}" if version else "without a version"
            places = ", ".join(ref.folder or "installed packages" for ref in same)
            said = f"this {kind.value.replace('_', ' ')} is there {len(same)} times {in_version}: {places}."
            yield warning(name, said, "The first one is used. Remove the others.")


def _imports(refs: Sequence[PluginRef], plugin_path: Sequence[str]) -> Iterator[Finding]:
    listed = [ref for ref in refs if ref.kind in LISTED]
    if not listed:
        return
    start_server()
    with closing(ConnectorHosts(plugin_path, logging.ERROR)) as hosts:
        for ref in listed:
            what = f"{ref.name} {ref.version or ''}".rstrip()
            try:
                described(hosts, ref, _IMPORT_S)
            except ConnectorCallError as problem:
                advice = f"Install what it needs into its folder ({ref.folder}), or into this worker's Python."
                yield error(what, f"cannot be loaded: {problem}", advice)
            else:
                yield ok(what, "can be loaded.")
