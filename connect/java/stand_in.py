"""What stands in Python for a class of Java: its settings, its version, and how its objects are made."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import Any, ClassVar, Final

from connect.java import jvm
from connect.java.jvm_options import OPTIONS
from connect.java.settings import definition_of
from connect.settings import Definition

#: A batch that has crossed is garbage. With twice the room for young objects, a crossing takes a quarter less CPU.
_ROOM_FOR_BATCHES: Final = ("-Xms128m", *(option for option in OPTIONS if not option.startswith("-Xms")))

_loaders: dict[str | None, jvm.PluginLoaders] = {}
_loading = threading.Lock()


class _Settings:
    """The `settings` of a stand-in: read from Java on first use."""

    def __get__(self, made: object, owner: Any) -> Definition:
        return _definition(owner)


class _Version:
    """Its `version`, likewise."""

    def __get__(self, made: object, owner: Any) -> str | None:
        return _version(owner)


@cache
def _definition(owner: Any) -> Definition:
    return definition_of(owner.config_def())


def loaders(folder: str | None) -> jvm.PluginLoaders:
    """The class loaders of one plug-in's folder in this process, for as long as it lives. For any thread."""
    with _loading:
        if folder not in _loaders:
            jvm.start(defaults=_ROOM_FOR_BATCHES)
            _loaders[folder] = jvm.PluginLoaders([] if folder is None else [folder])
    jvm.attach()
    return _loaders[folder]


class StandIn:
    """What all stand-ins have.

    Attributes:
        java_class: the full name of Java's class.
        folder: its plug-in's.
    """

    java_class: ClassVar[str]
    folder: ClassVar[str | None]
    settings: ClassVar[Any] = _Settings()
    version: ClassVar[Any] = _Version()

    @classmethod
    def make(cls) -> Any:
        """A new object of Java's class. Raises ConnectError."""
        plugins = loaders(cls.folder).plugins
        return jvm.translated(lambda: plugins.newPlugin(cls.java_class, None), f"{cls.java_class} cannot be made")

    @classmethod
    def class_loader(cls) -> AbstractContextManager[None]:
        """Within, this thread's class loader is that of the plug-in."""
        return loaders(cls.folder).of(cls.java_class)

    @classmethod
    def config_def(cls) -> Any:
        """Its ConfigDef; an empty one where it has none."""
        made = cls.make()
        found = None
        with suppress(AttributeError), cls.class_loader():
            found = jvm.translated(made.config, f"{cls.java_class}.config")
        return jvm.java("org.apache.kafka.common.config.ConfigDef")() if found is None else found


@cache
def _version(owner: Any) -> str | None:
    made = owner.make()
    if not hasattr(made, "version"):
        return None
    with owner.class_loader():
        found = jvm.translated(made.version, f"{owner.java_class}.version")
    return None if found is None else str(found)
