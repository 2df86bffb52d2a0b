"""The keys for a task that FAILED or makes no progress: `restart.policy.*` and `task.stalled.*`.

They are not in Kafka: a Java worker ignores them. The worker's file has the defaults, a connector's configuration may
have others under the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.settings.options import Options
from connect.settings.setting import Double, Long, String, seconds
from connect.settings.validators import at_least, between, one_of

_RESTARTS, _STALLS = "Automatic Restarts", "Stalled Tasks"


def _stalled_after(name: str, value: Any) -> None:
    if value != -1 and value < 1:
        raise ValueError(f"{value} is not 1 or more. Write milliseconds, or -1 to switch it off.")


class RecoveryOptions(Options):
    """The values of the worker's file. Times are in seconds.

    Attributes:
        restarts: whether what FAILED is restarted automatically.
        stalled_after: 0 for never.
        restart_stalled: whether a stall ends the task's process.
    """

    restarts = String(
        "restart.policy",
        group=_RESTARTS,
        order=1,
        width="SHORT",
        display_name="Restart Policy",
        default="on",
        validator=one_of("on", "off"),
        convert=lambda word: word == "on",
        doc="on: the worker restarts a connector or task that FAILED with an error that may pass, never one with an "
        "error of its configuration or of a record. off: it stays FAILED, as in Kafka.",
    )
    initial_delay = Long(
        "restart.policy.initial.delay.ms",
        group=_RESTARTS,
        order=2,
        width="SHORT",
        display_name="Initial Delay",
        default=1_000,
        validator=at_least(0),
        convert=seconds,
        doc="Milliseconds before the first automatic restart.",
    )
    max_delay = Long(
        "restart.policy.max.delay.ms",
        group=_RESTARTS,
        order=3,
        width="SHORT",
        display_name="Longest Delay",
        default=300_000,
        validator=at_least(1),
        convert=seconds,
        doc="The longest of these pauses, in milliseconds. After a run that lasted as long the next pause is the "
        "first one again.",
    )
    multiplier = Double(
        "restart.policy.multiplier",
        group=_RESTARTS,
        order=4,
        width="SHORT",
        display_name="Multiplier",
        default=2.0,
        validator=between(1, 100),
        doc="How many times longer each pause is than the one before.",
    )
    jitter = Double(
        "restart.policy.jitter",
        group=_RESTARTS,
        order=5,
        width="SHORT",
        display_name="Jitter",
        default=0.2,
        validator=between(0, 1),
        doc="The share of a pause that is random, so that not all tasks restart at once.",
    )
    max_restarts = Long(
        "restart.policy.max.restarts",
        group=_RESTARTS,
        order=6,
        width="SHORT",
        display_name="Most Restarts",
        default=100,
        validator=at_least(-1),
        doc="How many automatic restarts there may be within restart.policy.window.ms; after that it stays FAILED "
        "until somebody restarts it. -1 for no limit.",
    )
    window = Long(
        "restart.policy.window.ms",
        group=_RESTARTS,
        order=7,
        width="SHORT",
        display_name="Window",
        default=86_400_000,
        validator=at_least(1),
        convert=seconds,
        doc="Milliseconds over which automatic restarts are counted.",
    )
    stalled_after = Long(
        "task.stalled.after.ms",
        group=_STALLS,
        order=1,
        width="SHORT",
        display_name="Stalled After",
        default=300_000,
        validator=_stalled_after,
        convert=lambda milliseconds: max(0.0, seconds(milliseconds)),
        doc="Milliseconds after which the status shows a task as stalled that is RUNNING but moves nothing, although "
        "there is work. -1 switches that off.",
    )
    restart_stalled = String(
        "task.stalled.action",
        group=_STALLS,
        order=2,
        width="SHORT",
        display_name="Action on a Stall",
        default="report",
        validator=one_of("report", "restart"),
        convert=lambda word: word == "restart",
        doc="report: show it. restart: end the task's process as well; restart.policy.* says when it starts again.",
    )


CONNECTOR_RECOVERY: Final = RecoveryOptions.definition().of_connector()


def recovery(worker: Mapping[str, Any], connector: Mapping[str, Any]) -> RecoveryOptions:
    """The values for a connector: its own, then those of its worker's file. Raises ConfigError."""
    keys = [setting.name for setting in RecoveryOptions.definition()]
    return RecoveryOptions.parse({key: connector.get(key, worker.get(key)) for key in keys})
