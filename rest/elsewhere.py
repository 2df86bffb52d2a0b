"""What a resource leaves for `rest.forwarding` in the scope of a request that another worker may have to carry out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

#: Where an error handler leaves the address of the worker to ask: a list in the scope.
ELSEWHERE: Final = "connect.elsewhere"
#: Where a resource leaves a `Resolved`, if the body to send on is another one than it got: a list in the scope.
RESOLVED: Final = "connect.resolved"


class Resolved(NamedTuple):
    """What a resource has to say of a request that may go on to a leader of Java, which knows of no masks.

    Attributes:
        body: what is sent, with secrets in the place of masks.
        readable: what the caller may read of the body of the other worker's answer.
    """

    body: bytes
    readable: Callable[[bytes], Awaitable[bytes]]
