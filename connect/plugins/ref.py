"""What the runtime knows of a plug-in before it is imported."""

from __future__ import annotations

import enum
from typing import Final

import msgspec


class PluginKind(enum.Enum):
    """What a plug-in does. A connector is a source or a sink."""

    SOURCE = "source"
    SINK = "sink"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONFIG_PROVIDER = "config_provider"
    OVERRIDE_POLICY = "override_policy"


#: How the target of a Java class begins; its kind and its name follow: java.source:org.example.OrdersConnector.
JAVA: Final = "java."


#: The keys that name a converter, of a worker and of a connector.
CONVERTERS: Final = {
    "key.converter": PluginKind.CONVERTER,
    "value.converter": PluginKind.CONVERTER,
    "header.converter": PluginKind.HEADER_CONVERTER,
}


class PluginRef(msgspec.Struct, frozen=True, kw_only=True):
    """The location and name of a plug-in. Plain data: it travels to the process that loads it.

    Attributes:
        name: its full name: the Java class name where there is one, else ``module.Class``.
        kind: what it does.
        target: what to import, ``module:Class``; or a Java class, see `JAVA`.
        aliases: short names, by Java's rule: the simple name, and that without its suffix.
        folder: the folder of plugin.path that it came from, to be put on sys.path; None when it is installed as a
            package. Of a Java class: its jar, or the folder of its jars.
        version: of the plug-in's package or class; None when neither has one.
        task: for a connector with a Java class name, the name that `task.class` has in a Java cluster.
    """

    name: str
    kind: PluginKind
    target: str
    aliases: tuple[str, ...] = ()
    folder: str | None = None
    version: str | None = None
    task: str | None = None

    @property
    def language(self) -> str:
        """Its language: java or python."""
        return "java" if self.target.startswith(JAVA) else "python"

    def is_named(self, name: str) -> bool:
        """Whether this is a full name of it."""
        return name in {self.name, self.target, self.target.replace(":", ".")}


_SUFFIXES = {
    PluginKind.SOURCE: "Connector",
    PluginKind.SINK: "Connector",
    PluginKind.CONVERTER: "Converter",
    PluginKind.HEADER_CONVERTER: "HeaderConverter",
    PluginKind.TRANSFORMATION: "Transformation",
    PluginKind.PREDICATE: "Predicate",
    PluginKind.CONFIG_PROVIDER: "ConfigProvider",
    PluginKind.OVERRIDE_POLICY: "ConnectorClientConfigOverridePolicy",
}


def aliases(name: str, kind: PluginKind) -> tuple[str, ...]:
    """The short names of a full one: FileStreamSourceConnector and FileStreamSource."""
    simple = name.rpartition(".")[2]
    short = simple.removesuffix(_SUFFIXES[kind])
    return (simple, short) if short and short != simple else (simple,)
