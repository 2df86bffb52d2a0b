"""The plug-ins that come with the runtime, by the names that they have in Java. A table: nothing is imported."""

from __future__ import annotations

from connect import __version__
from connect.plugins.ref import PluginKind, PluginRef, aliases

_PROVIDER = "org.apache.kafka.common.config.provider"
_POLICY = "org.apache.kafka.connect.connector.policy"

_CONNECTORS = [
    (
        PluginKind.SOURCE,
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "connectors.file:FileStreamSourceConnector",
        "org.apache.kafka.connect.file.FileStreamSourceTask",
    ),
    (
        PluginKind.SINK,
        "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "connectors.file:FileStreamSinkConnector",
        "org.apache.kafka.connect.file.FileStreamSinkTask",
    ),
]

_OTHERS = [
    (PluginKind.CONVERTER, "org.apache.kafka.connect.storage.StringConverter", "connect.converters:StringConverter"),
    (PluginKind.CONVERTER, "org.apache.kafka.connect.json.JsonConverter", "connect.converters:JsonConverter"),
    *(
        (PluginKind.CONVERTER, f"org.apache.kafka.connect.converters.{name}", f"connect.converters:{name}")
        for name in (
            "ByteArrayConverter",
            "BooleanConverter",
            "ShortConverter",
            "IntegerConverter",
            "LongConverter",
            "FloatConverter",
            "DoubleConverter",
        )
    ),
    (
        PluginKind.HEADER_CONVERTER,
        "org.apache.kafka.connect.storage.SimpleHeaderConverter",
        "connect.converters:SimpleHeaderConverter",
    ),
    (PluginKind.CONFIG_PROVIDER, f"{_PROVIDER}.FileConfigProvider", "connect.settings.providers:FileConfigProvider"),
    (
        PluginKind.CONFIG_PROVIDER,
        f"{_PROVIDER}.DirectoryConfigProvider",
        "connect.settings.providers:DirectoryConfigProvider",
    ),
    (
        PluginKind.CONFIG_PROVIDER,
        f"{_PROVIDER}.EnvVarConfigProvider",
        "connect.settings.providers:EnvVarConfigProvider",
    ),
    (
        PluginKind.OVERRIDE_POLICY,
        f"{_POLICY}.AllConnectorClientConfigOverridePolicy",
        "connect.api.policy:AllOverrides",
    ),
    (
        PluginKind.OVERRIDE_POLICY,
        f"{_POLICY}.NoneConnectorClientConfigOverridePolicy",
        "connect.api.policy:NoOverrides",
    ),
    (
        PluginKind.OVERRIDE_POLICY,
        f"{_POLICY}.PrincipalConnectorClientConfigOverridePolicy",
        "connect.api.policy:PrincipalOverrides",
    ),
]


def _ref(kind: PluginKind, name: str, target: str, task: str | None = None) -> PluginRef:
    return PluginRef(name=name, kind=kind, target=target, aliases=aliases(name, kind), version=__version__, task=task)


BUILT_IN: tuple[PluginRef, ...] = tuple(
    [_ref(kind, name, target, task) for kind, name, target, task in _CONNECTORS]
    + [_ref(kind, name, target) for kind, name, target in _OTHERS]
)
