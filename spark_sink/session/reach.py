"""Whether a master or a server answers, before Spark is started, which would wait for it for minutes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence

from connect.errors import RetriableError
from spark_sink.session.jvm import Stopped

_TRIED_FOR = 10.0  # seconds; one that restarts is there again by then
_ONE_TRY = 3.0
_PAUSE = 0.25


def await_answer(
    addresses: Sequence[tuple[str, int]], what: str, deadline: float, stopping: Callable[[], bool]
) -> None:
    """Wait until one of these hosts accepts a connection; returns at once when there is none.

    Args:
        addresses: hosts and ports.
        what: their name in errors: "The Spark master spark://a:7077".
        deadline: on the monotonic clock; waits for at most ten seconds.
        stopping: whether to give up.

    Raises:
        RetriableError: none does, or their names cannot be resolved.
        Stopped: the task is stopping.
    """
    if not addresses:
        return
    deadline = min(deadline, time.monotonic() + _TRIED_FOR)
    answered = threading.Event()
    reasons: dict[tuple[str, int], str] = {}

    # In a thread: a resolver of names may take longer than anybody wants to wait.
    def knock() -> None:
        while not answered.is_set() and time.monotonic() < deadline:
            for address in addresses:
                try:
                    socket.create_connection(address, _ONE_TRY).close()
                except socket.gaierror:
                    reasons[address] = f"the host {address[0]} is not known here"
                except TimeoutError:
                    reasons[address] = "no answer"
                except OSError as error:
                    reasons[address] = (error.strerror or str(error)).lower()
                else:
                    answered.set()
                    return
            time.sleep(_PAUSE)

    threading.Thread(target=knock, name="spark-reach", daemon=True).start()
    while not answered.wait(0.05):
        if stopping():
            raise Stopped(f"{what} was not waited for: the task is stopping.")
        unknown = len(reasons) == len(addresses) and all("not known" in each for each in reasons.values())
        if unknown or time.monotonic() > deadline:
            why = "; ".join(dict.fromkeys(reasons.values())) or "no answer"
            raise RetriableError(
                f"{what} does not answer ({why}). Check the address, and that it runs and may be reached from here."
            )
