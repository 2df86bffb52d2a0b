"""The keys for the processes of tasks: `task.isolation`, and `java.isolation` of Java connectors.

They are not in Kafka: a Java worker ignores them. The worker's file has the defaults, a connector's configuration may
have other values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connect.settings.definition import Definition
from connect.settings.options import Options
from connect.settings.setting import Int, String
from connect.settings.validators import between, one_of

#: A process for each task.
PROCESS: Final = "process"
#: Tasks of a plug-in share processes.
PACKED: Final = "packed"
#: The first for the first tasks of a worker, the second for the others.
AUTO: Final = "auto"


#: Of `java.isolation`: what shares a JVM on a worker.
BY_TASK: Final = "task"
BY_CONNECTOR: Final = "connector"
BY_PLUGIN: Final = "plugin"
BY_WORKER: Final = "worker"


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


class JavaProcessOptions(Options):
    """The JVMs of Java connectors' tasks."""

    isolation = String(
        "java.isolation",
        group="Isolation",
        order=2,
        width="SHORT",
        display_name="Java Isolation",
        default=BY_CONNECTOR,
        importance="LOW",
        validator=one_of(BY_CONNECTOR, BY_TASK, BY_PLUGIN, BY_WORKER),
        doc="connector: the tasks of a connector on a worker share a process and its JVM. task: each has its own. "
        "plugin: all connectors of a plug-in share one. worker: all Java connectors do, as in Kafka Connect. What "
        "shares a JVM fails together, starts sooner and needs less memory.",
    )
    spare_processes = Int(
        "java.spare.processes",
        group="Isolation",
        order=3,
        width="SHORT",
        display_name="Spare Java Processes",
        default=1,
        importance="LOW",
        validator=between(0, 8),
        doc="So many JVMs wait for the next Java connector while the worker runs one, which then starts in a fraction "
        "of the time. Each has some 130 MB. 0 for none.",
    )


CONNECTOR_ISOLATION: Final = IsolationOptions.definition().of_connector()
JAVA_CONNECTOR_ISOLATION: Final = Definition([JavaProcessOptions.definition()["java.isolation"]]).of_connector()


def isolation(worker: Mapping[str, Any], connector: Mapping[str, Any]) -> str:
    """The value for a connector: its own, then that of its worker's file. Raises ConfigError."""
    key = "task.isolation"
    return IsolationOptions.parse({key: connector.get(key) or worker.get(key)}).isolation


@dataclass(frozen=True, slots=True)
class JavaProcess:
    """Which process a task of a Java connector has.

    Attributes:
        shared_by: tasks of a worker share one when they have the same text here.
        takes_spare: whether it may be one that has waited: with its JVM's options.
    """

    shared_by: str
    takes_spare: bool


def java_process(
    worker: Mapping[str, Any], config: Mapping[str, Any], connector: str, number: int, folder: str | None
) -> JavaProcess:
    """The process for a task.

    Args:
        worker, config: the configurations of the worker and of the connector.
        connector, number: its name, and the task's number.
        folder: of the plug-in.

    Raises:
        ConfigError: `java.isolation` has a value that it does not know.
    """
    key = "java.isolation"
    by = JavaProcessOptions.parse({key: config.get(key) or worker.get(key)}).isolation
    options = config.get("java.options") or ""
    shared_by = {
        BY_TASK: f"task {connector}-{number}",
        BY_CONNECTOR: f"connector {connector}",
        BY_PLUGIN: f"plugin {folder}",
        BY_WORKER: "Java",
    }[by]
    # Who shares one with other connectors has it for long, and a spare one would be memory for nothing.
    return JavaProcess(f"{shared_by} {options}", not options and by in {BY_TASK, BY_CONNECTOR})
