"""Requests from worker to worker: to the leader, and to the owner of a task."""

from connect.peers.client import PeerClient, PeerError
from connect.peers.signing import ALGORITHM_HEADER, SIGNATURE_HEADER, sign, verify

__all__ = ["ALGORITHM_HEADER", "SIGNATURE_HEADER", "PeerClient", "PeerError", "sign", "verify"]
