"""What workers of a pool ask of each other over REST, signed with the group's session key (KIP-507, KIP-618)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

import orjson

from connect.herder.fencing import Fencing
from connect.herder.leader import CUT_FOR, Leader
from connect.herder.pool import Pool


class PeerRequests:
    """Answers requests of other workers: see `rest.internal_requests.InternalRequests`. Safe to use from many threads.

    Args:
        pool: see `Pool`.
        leader: writes, and checks signatures.
        fencing: fences.
    """

    def __init__(self, pool: Pool, leader: Leader, fencing: Fencing) -> None:
        self.peers = pool.member.peers
        self._pool = pool
        self._leader = leader
        self._fencing = fencing

    def session_key(self) -> bytes | None:
        """The leader's key for requests between workers; None while there is none."""
        key = self._pool.state.session_key
        return None if key is None else key.key

    def key_settled(self) -> bool:
        return self._leader.key_settled()

    def check_headers(self, headers: Mapping[str, str]) -> None:
        self._leader.check_headers(headers)

    def check_signature(self, body: bytes, headers: Mapping[str, str]) -> None:
        self._leader.check_signature(body, headers)

    def put_task_configs(self, connector: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        """A follower's connector has new task configurations: `POST /connectors/{name}/tasks`."""
        cut_for = headers.get(CUT_FOR)

        def put() -> None:
            self._pool.config(connector)
            configs = [dict(config) for config in orjson.loads(body)]
            self._leader.put_tasks(connector, configs, None if cut_for is None else int(cut_for))

        return self._leader.submit(connector, f"writing the tasks of connector {connector}", put)

    def fence_zombies(self, connector: str) -> Future[None]:
        """A follower is about to start tasks that deliver exactly once: `PUT /connectors/{name}/fence`."""
        return self._fencing.fence(connector)
