"""What converters with a schema registry share: Confluent's REST interface, its settings and its frame.

- `keys`: the settings, under Confluent's names and defaults.
- `client`: the registry's operations; `http`: sends the requests.
- `subjects`: under which subject a schema is registered.
- `wire`: how a record names its schema, in its first bytes or in a header.
"""

from connect.converters.registry.client import (
    Reference,
    RegistryClient,
    RegistryNotFound,
    RegistryRefused,
    RegistrySchema,
    RegistryUnavailable,
    SchemaId,
    Version,
)
from connect.converters.registry.keys import RegistryConverterOptions, RegistryOptions
from connect.converters.registry.subjects import Subjects
from connect.converters.registry.wire import Wire

__all__ = [
    "Reference",
    "RegistryClient",
    "RegistryConverterOptions",
    "RegistryNotFound",
    "RegistryOptions",
    "RegistryRefused",
    "RegistrySchema",
    "RegistryUnavailable",
    "SchemaId",
    "Subjects",
    "Version",
    "Wire",
]
