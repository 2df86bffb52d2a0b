"""Names and connections, each within a time limit; an error says which step failed."""

from __future__ import annotations

import re
import socket
import threading
import time
from typing import Any, Final, Literal

from connect.errors import ConnectError

Step = Literal["DNS", "TCP"]

_PLACE: Final = re.compile(r"(?:\w+://)?(\[[^\]]+\]|[^:/\s]+):(\d+)")


class StepError(ConnectError):
    """A server cannot be reached.

    Attributes:
        step: that failed.
        found: a sentence.
        advice: what to do.
    """

    def __init__(self, step: Step, found: str, advice: str) -> None:
        super().__init__(f"{step}: {found}")
        self.step = step
        self.found = found
        self.advice = advice


def place_of(text: str) -> tuple[str, int] | None:
    """Host and port of `host:port`, also with a protocol before it; None for other texts."""
    match = _PLACE.fullmatch(text.strip())
    return (match[1].strip("[]"), int(match[2])) if match else None


def resolved(host: str, port: int, within: float) -> list[tuple[Any, ...]]:
    """The result of `socket.getaddrinfo` for TCP connections, which has no time limit of its own.

    Raises:
        StepError: the name has no address, or is not resolved in `within` seconds.
    """
    answer: list[Any] = []

    def ask() -> None:
        try:
            answer.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answer.append(error)

    thread = threading.Thread(target=ask, name=f"resolve {host}", daemon=True)
    thread.start()
    thread.join(within)
    advice = f"Check how {host} is written, and the DNS servers of this machine (/etc/resolv.conf)."
    if not answer:
        raise StepError("DNS", f"the name {host} had no answer within {within:g} s.", advice)
    if isinstance(answer[0], Exception):
        why = getattr(answer[0], "strerror", None) or str(answer[0])
        raise StepError("DNS", f"the name {host} has no address ({why}).", advice)
    found: list[tuple[Any, ...]] = answer[0]
    return found


def reached(host: str, port: int, within: float) -> socket.socket:
    """A connection to the first address of a host that accepts it. Its reads and writes have the same time limit.

    Raises:
        StepError: the name has no address, or none accepts a connection in `within` seconds.
    """
    problem: OSError | None = None
    deadline = time.monotonic() + within
    for family, kind, protocol, _, address in resolved(host, port, within):
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            connection.connect(address)
        except OSError as error:
            connection.close()
            problem = problem or error
        else:
            connection.settimeout(within)
            return connection
    if isinstance(problem, ConnectionRefusedError):
        found, advice = "refuses connections: nobody listens on this port.", "Start the server, or correct the port."
    elif isinstance(problem, TimeoutError):
        found = f"took no connection within {within:g} s."
        advice = "Check that the server runs, and that no firewall is between it and this machine."
    else:
        found = f"cannot be connected to ({getattr(problem, 'strerror', None) or problem})."
        advice = "Check the address, and this machine's network."
    raise StepError("TCP", found, advice) from problem
