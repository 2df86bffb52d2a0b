"""Removes members that sink tasks left behind from their consumer groups.

Until its session ends (10 s by default) such a member keeps its partitions, or delays every join of its group.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from connect.errors import ConnectError
from connect.kafka.admin.groups import session_of
from connect.worker.background import Background
from connect.worker.messages import Membership
from connect.worker.supervisor import TaskProcess

log = logging.getLogger("connect.herder")

_PAUSE_S = (0.5, 8.0)  # the first and the longest between two tries
_AT_ONCE = 4  # groups whose brokers do not answer must not hold up the others for long


class AbandonedMembers:
    """Removes members, and retries while brokers do not answer, until their sessions would have ended anyway.

    Args:
        remove: removes a member from its group, given the connector's configuration; raises `ConnectError` on failure.
        pauses: seconds between two tries, the first and the longest; doubled in between.
    """

    def __init__(
        self,
        remove: Callable[[Membership, Mapping[str, str]], None],
        pauses: tuple[float, float] = _PAUSE_S,
    ) -> None:
        self._remove_member = remove
        self._pauses = pauses
        self._closing = threading.Event()
        self._threads = Background("groups", _AT_ONCE)

    def remove(self, task: TaskProcess) -> None:
        """Remove the member of a task that has ended, if it left one. Returns at once."""
        if task.abandoned_member is not None:
            self._threads.submit(lambda: self._remove(task))

    def close(self, within: float) -> None:
        """Wait for running tries, for at most so many seconds, and start no others."""
        self._closing.set()
        self._threads.close(within)

    def _remove(self, task: TaskProcess) -> None:
        member = task.abandoned_member
        assert member is not None
        spec = task.spec
        pause, longest = self._pauses
        try:
            until = time.monotonic() + session_of(spec.worker_config, spec.connector_config)
            while True:
                try:
                    self._remove_member(member, spec.connector_config)
                except ConnectError:
                    if not member.member_id:
                        return  # it has probably never joined: no broker answered it either
                    if time.monotonic() + pause >= until or self._closing.wait(pause):
                        raise
                    pause = min(2 * pause, longest)
                else:
                    return
        except Exception as error:
            log.warning(
                "The worker could not remove the member that this task left in group %s; its partitions wait for the "
                "end of the session: %s",
                member.group,
                error,
                extra={"about": task.id},
            )
