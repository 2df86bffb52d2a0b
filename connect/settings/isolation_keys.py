"""The keys for the processes of tasks: `task.isolation`, and `java.isolation` of Java connectors.

They are not in Kafka: a Java worker ignores them. The worker's file has the default of the first, a connector's
configuration may have another value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.settings.definition import Definition
from connect.settings.options import Options
from connect.settings.setting import String
from connect.settings.validators import one_of

#: A process for each task.
PROCESS: Final = "process"
#: Tasks of a plug-in share processes.
PACKED: Final = "packed"
#: The first for the first tasks of a worker, the second for the others.
AUTO: Final = "auto"


#: Of `java.isolation`: a JVM for the tasks of a connector on a worker, or for each task.
BY_CONNECTOR: Final = "connector"
BY_TASK: Final = "task"


class IsolationOptions(Options):
    """How the tasks of a connector are kept apart."""

    isolation = String(
        "task.isolation",
        group="Isolation",
        order=1,
        width="SHORT",
        display_name="Task Isolation",
        default=AUTO,
        validator=one_of(AUTO, PROCESS, PACKED),
        doc="process: each task has a process of its own. packed: light tasks of a plug-in share processes. auto: the "
        "first 16 tasks of a worker have processes of their own, the others are packed.",
    )


#: As a connector has it: by default what its worker says.
CONNECTOR_ISOLATION: Final = Definition(
    setting.replaced(default=None, doc=f"{setting.doc} By default the worker's.")
    for setting in IsolationOptions.definition()
)


def isolation(worker: Mapping[str, Any], connector: Mapping[str, Any]) -> str:
    """The value for a connector: its own, then that of its worker's file. Raises ConfigError."""
    (key,) = [setting.name for setting in IsolationOptions.definition()]
    return IsolationOptions.parse({key: connector.get(key) or worker.get(key)}).isolation


def java_isolation(connector: Mapping[str, Any]) -> str:
    """What `task.isolation` means for the tasks of a Java connector."""
    return PROCESS if connector.get("java.isolation") == BY_TASK else PACKED
