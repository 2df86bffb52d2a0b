"""One connection to the stream: lines of JSON, and empty lines as a sign of life."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Iterator
from typing import Final

import urllib3

from connectors.twitter.failures import ApiError, Kind

_CHUNK: Final = 64 * 1024
#: No post with all that comes along is as long.
_LONGEST: Final = 8 * 1024 * 1024


class Connection:
    """An open connection. Read by one thread; `wake` is thread-safe.

    Args:
        body: of the response.
        date: of its opening by X's clock, in the form of HTTP.
        patience: seconds without a byte after which it counts as dead. The socket's timeout.
    """

    def __init__(self, body: urllib3.BaseHTTPResponse, date: str | None, patience: float) -> None:
        self._body = body
        self._patience = patience
        self.opened_at = _milliseconds(date)

    def lines(self) -> Iterator[bytes]:
        """Lines without their ends, the empty ones as well, until the server ends it. An incomplete line is dropped.

        Raises:
            ApiError: it broke, or nothing arrived for too long.
        """
        kept: list[bytes] = []
        size = 0
        while True:
            try:
                data = self._body.read1(_CHUNK, decode_content=True)
            except urllib3.exceptions.ReadTimeoutError as error:
                raise ApiError(
                    f"The stream was silent for {self._patience:g} s, though X sends a line every 20 s: it counts as "
                    "dead.",
                    Kind.NETWORK,
                    "timeout",
                ) from error
            except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError) as error:
                # The last two are what a body gives that another thread has closed.
                raise ApiError(
                    f"The stream's connection broke ({type(error).__name__}).", Kind.NETWORK, "unreachable"
                ) from error
            if not data:
                return
            head, newline, rest = data.partition(b"\n")
            if not newline:
                kept.append(data)
                size += len(data)
                if size > _LONGEST:
                    raise ApiError(
                        f"The stream sent a line of more than {_LONGEST >> 20} MiB.", Kind.NETWORK, "malformed"
                    )
                continue
            yield b"".join([*kept, head]).strip()
            *whole, last = rest.split(b"\n")
            for line in whole:
                yield line.strip()
            kept, size = [last], len(last)

    def wake(self) -> None:
        """Wake a thread that waits for bytes."""
        try:
            self._body.shutdown()
        except (ValueError, RuntimeError, OSError):
            pass  # it ended by itself

    def close(self) -> None:
        """End it. Called by the thread that reads."""
        self._body.close()


def _milliseconds(date: str | None) -> int:
    """X's clock where it is known: the end of a gap is compared with times of posts, not of this machine."""
    try:
        return int(email.utils.parsedate_to_datetime(date or "").timestamp() * 1000)
    except (ValueError, TypeError):
        return int(time.time() * 1000)
