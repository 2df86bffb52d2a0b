"""Importing a plug-in, in the process that uses it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from connect import api
from connect.errors import ConnectError, one_line
from connect.plugins.ref import JAVA, PluginKind, PluginRef
from connect.settings.providers import ConfigProvider

_BASES: dict[PluginKind, type[Any]] = {
    PluginKind.SOURCE: api.SourceConnector,
    PluginKind.SINK: api.SinkConnector,
    PluginKind.CONVERTER: api.Converter,
    PluginKind.HEADER_CONVERTER: api.HeaderConverter,
    PluginKind.TRANSFORMATION: api.Transformation,
    PluginKind.PREDICATE: api.Predicate,
    PluginKind.CONFIG_PROVIDER: ConfigProvider,
    PluginKind.OVERRIDE_POLICY: api.ClientConfigOverridePolicy,
}


#: The full names under which classes were loaded, for `name_of`.
_NAMES: dict[type[Any], str] = {}


class PluginLoadError(ConnectError):
    """A plug-in was found but cannot be used: its import fails, or it does not implement its kind."""


def load(ref: PluginRef) -> type[Any]:
    """Import a plug-in and return its class. Its folder goes first on this process's sys.path.

    Raises:
        PluginLoadError: says in one line what is wrong; the cause is chained.
    """
    if ref.target.startswith(JAVA):
        made = load_class(ref.target, ref.folder)
        _NAMES[made] = ref.name
        return made
    if ref.folder and ref.folder not in sys.path:
        sys.path.insert(0, ref.folder)
        importlib.invalidate_caches()
    module_name, _, name = ref.target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise PluginLoadError(f"{_said(ref)}: importing {module_name} failed: {_in_one_line(error)}") from error
    file = getattr(module, "__file__", None)
    if ref.folder and file and not Path(file).resolve().is_relative_to(Path(ref.folder).resolve()):
        raise PluginLoadError(
            f"{_said(ref)}: this process already has a module {module_name}, from {file}. "
            "Rename the one in the folder, or take the other out of the installation."
        )
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    _check(ref, module_name, name, found)
    _NAMES[found] = ref.name
    return found  # type: ignore[no-any-return]  # _check made sure that it is a class


def load_class(target: str, folder: str | None) -> type[Any]:
    """Import "module:Class" of a plug-in that was found elsewhere, from its folder where it has one.

    For a Java class it returns the Python class that stands for it.
    """
    if target.startswith(JAVA):
        kind, _, name = target.removeprefix(JAVA).partition(":")
        stand_in: type[Any] = importlib.import_module("connect.java.plugins").stand_in(kind, name, folder)
        return stand_in
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def name_of(plugin: type[Any]) -> str:
    """The full name of a plug-in's class: the Java class's, if it stands for one."""
    return _NAMES.get(plugin) or f"{plugin.__module__}.{plugin.__qualname__}"


def _check(ref: PluginRef, module: str, name: str, found: Any) -> None:
    base = _BASES[ref.kind]
    wanted = f"A {ref.kind.value.replace('_', ' ')} extends {base.__module__.partition('.')[0]}.{base.__name__}."
    if found is None:
        raise PluginLoadError(f"{_said(ref)}: the module {module} has no {name}.")
    if not isinstance(found, type):
        raise PluginLoadError(f"{_said(ref)}: it is not a class but of type {type(found).__name__}. {wanted}")
    if not issubclass(found, base):
        parents = ", ".join(f"{parent.__module__}.{parent.__qualname__}" for parent in found.__bases__)
        raise PluginLoadError(f"{_said(ref)}: it extends {parents}. {wanted}")
    if missing := [name for name in dir(found) if getattr(getattr(found, name), "__isabstractmethod__", False)]:
        raise PluginLoadError(f"{_said(ref)}: it does not define {', '.join(missing)}.")


def _said(ref: PluginRef) -> str:
    return f'Plug-in "{ref.name}"{f" of {ref.folder}" if ref.folder else ""}'


def _in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(error)}"
