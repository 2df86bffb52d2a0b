"""`python -m bench.strangers [WORD]`: what strangers do, at the size of the bar.

5,000 slow connections, or 200 bodies of 30 MiB that stall, against a worker with 1,024 descriptors. Meanwhile another
client asks for GET /connectors: p99 under 200 ms, under 100 MB more memory of the worker, under 1 MB of log.
"""

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.machine import say
from connect.kafka.broker import embedded as broker
from tests.integration.rest.guarded_worker import ADA, GuardedWorker, a_guarded_worker
from tests.integration.rest.test_strangers import FORGED, LARGE
from tests.support.attacks import MIB, SLOW, crowd, post, took
from tests.support.rest import ask

REQUESTS = 400
PAUSE_S = 0.05


def one(worker: GuardedWorker, what: str, count: int, beginning: bytes, body: int = 0, *, again: int = 0) -> None:
    """Measure one crowd, from when all of it has come, and print a line."""
    memory, logged, most = worker.memory(), worker.logged(), 0
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as client:  # the crowd keeps this one busy
        alone, _ = client.submit(asked, worker.port).result()
        with crowd(worker.port, count, beginning, body, again=again) as others:
            while others.opened < count:
                time.sleep(0.05)
            asking = client.submit(asked, worker.port)
            while not asking.done():
                most = max(most, worker.memory())
                time.sleep(0.05)
            found, statuses = asking.result()
    time.sleep(10)
    say(
        f"{what}: {others.opened:,} connections, {others.sent / MIB:,.0f} MiB taken, answers {statuses}; "
        f"p50 {_ms(found, 0.5)}, p99 {_ms(found, 0.99)}, longest {_ms(found, 1)} (alone p99 {_ms(alone, 0.99)}); "
        f"memory +{(most - memory) / MIB:.0f} MiB at most, {(worker.memory() - memory) / MIB:+.0f} MiB 10 s later; "
        f"log +{(worker.logged() - logged) / 1000:.1f} kB"
    )


def asked(port: int) -> tuple[list[float], set[int]]:
    """How long requests take, sorted, and what is answered."""
    return took(lambda: ask(port, "GET", "/connectors", headers=ADA).status, REQUESTS, PAUSE_S)


def _ms(seconds: list[float], part: float) -> str:
    return f"{1000 * seconds[min(len(seconds) - 1, int(len(seconds) * part))]:.0f} ms"


def main(words: list[str]) -> None:
    """Measure all of them, with a login and without; or those whose names have one of these words."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, max(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running = broker.ensure_running(folder / "broker", port=0)
        try:
            for guarded in (True, False):
                own = folder / str(guarded)
                own.mkdir()
                with a_guarded_worker(running.bootstrap_servers, own, guarded=guarded) as worker:
                    say("with a login" if guarded else "without a login")
                    for what, measure in cases(worker, guarded=guarded).items():
                        if not words or any(word in what for word in words):
                            measure(what)
        finally:
            broker.stop(folder / "broker")


def cases(worker: GuardedWorker, *, guarded: bool) -> dict[str, Callable[[str], None]]:
    """What is measured."""
    signed = post("/connectors/a/tasks", FORGED, LARGE)
    plain = post("/connectors", {} if guarded else ADA, LARGE)
    return {
        "5,000 slow": lambda what: one(worker, what, 5_000, SLOW),
        "5,000 of which 200 a second come again": lambda what: one(worker, what, 5_000, SLOW, again=200),
        "200 signed bodies": lambda what: one(worker, what, 200, signed, LARGE - 1),
        "200 signed bodies, 50 a second again": lambda what: one(worker, what, 200, signed, LARGE - 1, again=50),
        "200 bodies": lambda what: one(worker, what, 200, plain, LARGE - 1),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
