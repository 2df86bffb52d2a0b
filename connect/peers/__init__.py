"""Requests from worker to worker: to the leader, and to whoever runs a task."""

from connect.peers.client import PeerError, exchange, send, use_tls_of
from connect.peers.signing import ALGORITHM_HEADER, SIGNATURE_HEADER, sign, verify

__all__ = ["ALGORITHM_HEADER", "SIGNATURE_HEADER", "PeerError", "exchange", "send", "sign", "use_tls_of", "verify"]
