"""What every plug-in has: settings and a version.

No plug-in ever runs in the worker's process. Connectors live in a host process that the connectors of one plug-in
share; each task has a process of its own, in which its converters, transformations and predicates run too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from connect.settings import Config, Definition


class Plugin:
    """Base of all plug-ins.

    Attributes:
        settings: the plug-in's configuration keys. Validation, documentation and forms come from them.
        version: shown by the REST API and in logs; None when there is none.
        needs: packages that it imports when it starts, and what to install by pip for each: `{"boto3":
            "connect-runtime[s3]"}`. Validation refuses a connector that lacks one.
    """

    settings: ClassVar[Definition] = Definition()
    version: ClassVar[str | None] = None
    needs: ClassVar[Mapping[str, str]] = {}


class Configurable(Plugin):
    """A plug-in that is configured once, before its first use, in the process that uses it."""

    def configure(self, config: Config) -> None:
        """Receives the parsed settings. Raising `ConfigError` fails the task before it starts."""

    def close(self) -> None:
        """Release resources. Called once, also after an error; may be called without `configure`."""
