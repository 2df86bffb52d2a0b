"""The keys of a session that belong to this project. Every other `spark.*` key goes to Spark as it is written."""

from __future__ import annotations

import re
from typing import Any, Final

from connect import settings
from spark_sink.session.masters import EVERYWHERE, MASTER, REMOTE, master_of

SHARED: Final = "spark.shared.session"
IDLE: Final = "spark.shared.idle.ms"
SHIP_CODE: Final = "spark.ship.code"
CLASSES: Final = "spark.class.archive"
START_TIMEOUT: Final = "spark.start.timeout.ms"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _is_place(key: str, value: Any) -> None:
    master_of({key: value})  # says what is wrong with it, and never an option of it, such as a token


def _is_name(key: str, value: Any) -> None:
    if not _NAME.fullmatch(value):
        raise ValueError("is not a name. Write letters, digits, dots, hyphens and underscores.")


class SessionOptions(settings.Options):
    """Where Spark runs, and how it is started."""

    master = settings.String(
        MASTER,
        default=EVERYWHERE,
        validator=_is_place,
        importance="HIGH",
        group="Spark",
        width="MEDIUM",
        doc="Where Spark runs: local[*] (this machine, all its cores), local[2], spark://host:7077, "
        "k8s://https://host:6443, yarn, or sc://host:15002 (Spark Connect).",
    )
    remote = settings.String(
        REMOTE,
        default=None,
        validator=_is_place,
        importance="MEDIUM",
        group="Spark",
        width="MEDIUM",
        doc="A Spark Connect server, sc://host:15002, instead of spark.master. Options follow as /;key=value: "
        "sc://host:15002/;token=...;use_ssl=true.",
    )
    shared = settings.String(
        SHARED,
        default=None,
        validator=_is_name,
        importance="MEDIUM",
        group="Spark",
        width="SHORT",
        doc="A name: all connectors of this machine and user with the same name share one local Spark, which the first "
        "one starts with its settings and which ends after the last one.",
    )
    shared_idle = settings.Int(
        IDLE,
        default=60_000,
        validator=settings.at_least(0),
        convert=settings.seconds,
        importance="LOW",
        group="Spark",
        width="SHORT",
        doc="How long a shared Spark waits for a connector once nobody uses it, in milliseconds: one that is restarted "
        "finds it still there. The first connector's value counts.",
    )
    ship_code = settings.String(
        SHIP_CODE,
        default="auto",
        validator=settings.one_of("auto", "always", "never"),
        importance="LOW",
        group="Spark",
        width="SHORT",
        doc="Whether executors are sent this runtime's and the plug-ins' Python code: auto sends it unless Spark is "
        "local; never is for executors that have the same version installed. Compiled packages, such as "
        "confluent-kafka and pyarrow, must be installed there in any case.",
    )
    class_archive = settings.String(
        CLASSES,
        default="auto",
        validator=settings.one_of("auto", "never"),
        importance="LOW",
        group="Spark",
        width="SHORT",
        doc="Whether a local Spark maps its classes from a file, 200 MB in the user's cache, and so starts in half the "
        "time: auto, or never. With auto a task that finds no such file has it made in the background, once its first "
        "rows are written.",
    )
    start_timeout = settings.Int(
        START_TIMEOUT,
        default=120_000,
        validator=settings.at_least(1_000),
        convert=settings.seconds,
        importance="LOW",
        group="Spark",
        width="SHORT",
        doc="How long Spark may take to start, in milliseconds, before the task fails.",
    )


#: Read here and not by Spark.
OWN: Final = frozenset({SHARED, IDLE, SHIP_CODE, CLASSES, START_TIMEOUT})
