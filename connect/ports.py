"""A port for a server that is about to start."""

import errno
import random
import socket
from pathlib import Path

HOST = "127.0.0.1"
_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10_000  # below are the well-known servers
_ENOUGH = 2_000
_TRIES = 100


def free_port() -> int:
    """A port on which nobody listens, and which a server can take again after a restart.

    The kernel gives ports of one range to outgoing connections. A server that restarts on such a port may find it taken
    by any connection, even by that of its own client (RFC 9293, 3.5: simultaneous open). So we choose one below that
    range.

    Raises:
        OSError: no port is free.
    """
    outgoing = _first_outgoing()
    if outgoing - _FIRST >= _ENOUGH:
        for _ in range(_TRIES):
            port = random.randrange(_FIRST, outgoing)  # noqa: S311 - no secret
            if is_free(port):
                return port
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether a server can listen there now. Lingering connections of a former server do not block the port.

    Raises:
        OSError: it cannot be used, for a reason other than being taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen()  # two may be bound to a port that nobody listens on
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
    return True


def _first_outgoing() -> int:
    """The first port of outgoing connections: as Linux is configured, elsewhere IANA's range (RFC 6335)."""
    try:
        return int(_OUTGOING.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 49_152
