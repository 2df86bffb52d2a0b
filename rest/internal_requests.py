"""Requests between workers over REST, signed with the group's session key (KIP-507, KIP-618)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Protocol

from connect.peers import PeerClient


class InternalRequests(Protocol):
    """The leader's side. No request is carried out before its signature was checked.

    Errors are `HerderError` with the status of the response.

    Attributes:
        peers: sends requests to other workers.
    """

    peers: PeerClient

    def session_key(self) -> bytes | None:
        """The key with which workers of this group sign; None while there is none."""

    def key_settled(self) -> bool:
        """Whether all workers of this group have that key: it was not written just now, and is not about to expire."""

    def check_headers(self, headers: Mapping[str, str]) -> None:
        """Check whether the headers of such a request can be right, before its body is read. HerderError if not."""

    def check_signature(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Check that a worker of this group sent a request: the signature is over the bytes of the body."""

    def put_task_configs(self, connector: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        """A follower's connector has new task configurations: the body is a JSON list of them."""

    def fence_zombies(self, connector: str) -> Future[None]:
        """A follower is about to start tasks that deliver exactly once: fence their predecessors."""
