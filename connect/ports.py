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
    """A port on which nobody listens now, and that stays its owner's while that one restarts.

    The kernel gives the ports of one range to outgoing connections. A server of such a port that is away for a moment
    may find it taken by any connection, even by one that a client of its own tries to make to it (RFC 9293, 3.5:
    simultaneous open). So it is one of the ports below that range.

    Raises:
        OSError: no port can be had.
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
    """Whether a server can listen there now. Connections of a former one that linger do not take the port.

    Raises:
        OSError: it cannot be used, for another reason than that it is taken.
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
    """The first port that outgoing connections get: of Linux as it is set, elsewhere what IANA gives (RFC 6335)."""
    try:
        return int(_OUTGOING.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 49_152
