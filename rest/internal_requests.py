"""What workers ask of each other over REST, signed with the group's session key (KIP-507, KIP-618)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Protocol

from connect.peers import PeerClient


class InternalRequests(Protocol):
    """The leader's part of a distributed herder. Nothing is asked of it before the signature was checked.

    Errors are `HerderError` with the status to answer with.

    Attributes:
        peers: asks other workers.
    """

    peers: PeerClient

    def session_key(self) -> bytes | None:
        """The key with which workers of this group prove who they are; None while there is none."""

    def key_settled(self) -> bool:
        """Whether all workers of this group have that key: it was not handed out just now, and lives on for a while."""

    def check_headers(self, headers: Mapping[str, str]) -> None:
        """See whether the headers of such a request can be right, before its body is read. HerderError if not."""

    def check_signature(self, body: bytes, headers: Mapping[str, str]) -> None:
        """See whether a worker of this group sent a request: the signature is over the bytes of the body."""

    def put_task_configs(self, connector: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        """A follower's connector cut its work: the body is a JSON list of task configurations."""

    def fence_zombies(self, connector: str) -> Future[None]:
        """A follower is about to start tasks that deliver exactly once: fence their predecessors."""
