"""The keys of the process that runs a Java connector's tasks, whichever engine runs them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from connect import settings
from connect.java import jvm
from connect.java.jvm_options import refusal
from connect.settings.isolation_keys import JAVA_CONNECTOR_ISOLATION


class JavaOptions(settings.Options):
    """Those that are for its JVM."""

    options = settings.String(
        "java.options",
        default="",
        importance="LOW",
        group="Java",
        width="LONG",
        doc="Options of the JVM, in place of those of the runtime that say the same: -Xmx2g -XX:+UseG1GC.",
    )


def _options(name: str, value: str) -> None:
    options = shlex.split(value)
    for option in options:
        if not option.startswith("-"):
            raise ValueError(f'"{option}" is not an option of Java: options begin with a dash.')
    if refused := refusal(tuple(options)):
        raise ValueError(f"Java does not start with these options: {refused}.")


#: All of them.
PROCESS_SETTINGS: Final = JAVA_CONNECTOR_ISOLATION | JavaOptions.definition().replaced(
    "java.options", validator=_options
)


def start_jvm(config: Mapping[str, str]) -> None:
    """Start the JVM of this process with the options of a connector's configuration, unless it runs.

    Raises:
        ConfigError: see `jvm.start`.
    """
    jvm.start(shlex.split(JavaOptions.parse(config).options))
