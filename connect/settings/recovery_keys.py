"""The keys for what happens to a task that FAILED or stands still: `restart.policy.*` and `task.stalled.*`.

Only here, not in Kafka: a Java worker takes no notice of them. The worker's file has the defaults, a connector's
configuration may have others under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from connect.settings.definition import Config, Definition, define
from connect.settings.setting import Double, Long, Setting, String
from connect.settings.validators import at_least, between, one_of

_RESTARTS, _STALLS = "Automatic Restarts", "Stalled Tasks"


def _stalled_after(name: str, value: Any) -> None:
    if value != -1 and value < 1:
        raise ValueError(f"{value} is not 1 or more. Write milliseconds, or -1 to switch it off.")


def _key(
    declare: Callable[..., Setting[Any]], name: str, group: str, order: int, display_name: str, **more: Any
) -> Setting[Any]:
    return declare(
        name, group=group, order=order, width="SHORT", display_name=display_name, importance="MEDIUM", **more
    )


#: As the worker's file has them.
WORKER_RECOVERY: Final = define(
    _key(
        String,
        "restart.policy",
        _RESTARTS,
        1,
        "Restart Policy",
        default="on",
        validator=one_of("on", "off"),
        doc="on: a connector or task that FAILED with an error that may pass is restarted by itself. Errors of a "
        "configuration or of a record never are. off: it stays FAILED, as in Kafka.",
    ),
    _key(
        Long,
        "restart.policy.initial.delay.ms",
        _RESTARTS,
        2,
        "Initial Delay",
        default=1_000,
        validator=at_least(0),
        doc="Milliseconds before the first automatic restart.",
    ),
    _key(
        Long,
        "restart.policy.max.delay.ms",
        _RESTARTS,
        3,
        "Longest Delay",
        default=300_000,
        validator=at_least(1),
        doc="The longest of these pauses, in milliseconds. A run that lasted as long ends the row: the next pause is "
        "the first one again.",
    ),
    _key(
        Double,
        "restart.policy.multiplier",
        _RESTARTS,
        4,
        "Multiplier",
        default=2.0,
        validator=between(1, 100),
        doc="How many times longer each pause is than the one before.",
    ),
    _key(
        Double,
        "restart.policy.jitter",
        _RESTARTS,
        5,
        "Jitter",
        default=0.2,
        validator=between(0, 1),
        doc="By what share of itself a pause is longer or shorter by chance, so that not all tasks come back at once.",
    ),
    _key(
        Long,
        "restart.policy.max.restarts",
        _RESTARTS,
        6,
        "Most Restarts",
        default=100,
        validator=at_least(-1),
        doc="How many automatic restarts there may be within restart.policy.window.ms; after that it stays FAILED "
        "until somebody restarts it. -1 for no limit.",
    ),
    _key(
        Long,
        "restart.policy.window.ms",
        _RESTARTS,
        7,
        "Window",
        default=86_400_000,
        validator=at_least(1),
        doc="Milliseconds over which automatic restarts are counted.",
    ),
    _key(
        Long,
        "task.stalled.after.ms",
        _STALLS,
        1,
        "Stalled After",
        default=300_000,
        validator=_stalled_after,
        doc="Milliseconds after which a task that is RUNNING but moves nothing, although there is work, is said to "
        "stand still in its status. -1 switches that off.",
    ),
    _key(
        String,
        "task.stalled.action",
        _STALLS,
        2,
        "Action on a Stall",
        default="report",
        validator=one_of("report", "restart"),
        doc="report: show it. restart: end the task's process as well; restart.policy.* says when it starts again.",
    ),
)

#: As a connector has them: by default what its worker says.
CONNECTOR_RECOVERY: Final = Definition(
    replace(setting, default=None, doc=f"{setting.doc} By default the worker's.") for setting in WORKER_RECOVERY
)


def recovery(worker: Mapping[str, Any], connector: Mapping[str, Any]) -> Config:
    """What holds for a connector: its own values, then those of its worker's file. Raises ConfigError."""
    written = {setting.name: connector.get(setting.name, worker.get(setting.name)) for setting in WORKER_RECOVERY}
    return WORKER_RECOVERY.parse(written)
