"""Whether processes take ever more: by the slope of all samples of a process, not by its first and its last."""

from __future__ import annotations

import contextlib
import itertools
import math
import statistics
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from .checks import Problem

#: Seconds between two samples; what a process takes to have loaded and cached what it needs; and a worker, whose
#: clients meet one broker after another, and whose pools of threads grow to their size; how long one has to have been
#: seen after that before it is judged.
EVERY_S: Final = 5.0
WARM_S: Final = 90.0
WORKER_WARM_S: Final = 300.0
LONG_S: Final = 240.0


class Sample(NamedTuple):
    """One process at one moment, in seconds: its share of memory in bytes, and how many it has of the others.

    `forked` is how many processes of tasks and connectors its worker has, itself left out.
    """

    at: float
    pss: float
    threads: float
    descriptors: float
    children: float
    forked: float


class Slope(NamedTuple):
    """Of a straight line through samples, a second, and the half width of its 95 % confidence interval."""

    slope: float
    within: float

    @property
    def certain(self) -> float:
        """What it grows by for certain, a second; below zero where it may as well not grow.

        By the 99.9 % interval: a run has some hundred slopes, of which one in forty is beyond that of 95 % by chance.
        """
        return self.slope - self.within * 3.29 / 1.96


class Limit(NamedTuple):
    """What may be gained.

    Attributes:
        per_hour: growth that is no leak, for certain.
        gained: by how much the line has to have risen while the process was seen: less is a cache.
        share: likewise, of what the process has on average: the hundred threads of a worker come and go with faults.
    """

    per_hour: float
    gained: float
    share: float = 0.0


#: Memory in bytes: 64 MiB an hour is 1.5 GiB a day. A process that writes Delta tables takes 20 of its 120 MiB in its
#: first 600 commits, ten minutes, and no more in the next 300: what has been gained counts from 15 % on.
LIMITS: Final[dict[str, Limit]] = {
    "pss": Limit(64 << 20, 12 << 20, 0.15),
    "threads": Limit(6, 3, 0.2),
    "descriptors": Limit(12, 6, 0.2),
    "children": Limit(6, 3),
}


def measure(process: psutil.Process, at: float, forked: int) -> Sample:
    """Raises psutil.NoSuchProcess or OSError when it has ended."""
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
    (pss,) = [int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")]
    with process.oneshot():
        return Sample(at, pss * 1024, process.num_threads(), process.num_fds(), len(process.children()), forked)


def slope(times: Sequence[float], values: Sequence[float]) -> Slope:
    """Least squares. Samples near each other are alike, so they count as fewer: as many as are independent.

    Source: Santer et al., Statistical significance of trends, J. Geophys. Res. 105 (2000): n(1-r)/(1+r) of them, with r
    the correlation of each residual with the next.
    """
    line = statistics.linear_regression(times, values)
    away = [value - line.intercept - line.slope * at for at, value in zip(times, values, strict=True)]
    spread = sum((at - statistics.fmean(times)) ** 2 for at in times)
    total = sum(each * each for each in away)
    if total < 1e-9:
        return Slope(line.slope, 0.0)
    alike = min(0.99, max(0.0, sum(a * b for a, b in itertools.pairwise(away)) / total))
    independent = max(3.0, len(times) * (1 - alike) / (1 + alike))
    return Slope(line.slope, 2 * math.sqrt(total / (independent - 2) / spread))


def growth(history: Sequence[Sample], what: str) -> Slope:
    """The slope of one figure of a process, at an equal number of forked processes.

    A worker has threads and descriptors for each task, and takes over tasks of others: what is explained by their
    number does not count. Both times and figures are freed of it, which gives the slope of a regression on time and
    number (Frisch and Waugh, Partial time regressions, Econometrica 1, 1933).
    """
    forked = [each.forked for each in history]
    times = _freed([each.at for each in history], forked)
    return slope(times, _freed([getattr(each, what) for each in history], forked))


def _goes_on(history: Sequence[Sample], what: str, whole: float) -> bool:
    """Whether it grows in both halves, half as fast at least: a cache that was filled once has done so in one."""
    middle = len(history) // 2
    return all(growth(half, what).slope >= whole / 2 for half in (history[:middle], history[middle:]))


def _freed(values: Sequence[float], of: Sequence[float]) -> list[float]:
    if len(set(of)) == 1:
        return list(values)
    explained = statistics.linear_regression(of, values).slope
    return [value - explained * other for value, other in zip(values, of, strict=True)]


def warmed(name: str, history: Sequence[Sample]) -> list[Sample]:
    """The samples of a process that count."""
    after = WORKER_WARM_S if name == f"{_worker(name)} {name.rsplit(maxsplit=1)[-1]}" else WARM_S
    return [each for each in history if each.at >= history[0].at + after]


def leaks(samples: Mapping[str, Sequence[Sample]], limits: Mapping[str, Limit] = LIMITS) -> list[Problem]:
    """The processes that take ever more."""
    found = []
    for name, history in samples.items():
        warm = warmed(name, history)
        if len(warm) < 10 or warm[-1].at - warm[0].at < LONG_S:
            continue
        times = [each.at for each in warm]
        for what, limit in limits.items():
            line = growth(warm, what)
            gained = line.slope * (times[-1] - times[0])
            least = max(limit.gained, limit.share * statistics.fmean(getattr(each, what) for each in warm))
            if line.certain * 3600 > limit.per_hour and gained > least and _goes_on(warm, what, line.slope):
                unit = " MiB" if what == "pss" else f" {what}"
                per = (1 << 20) if what == "pss" else 1
                found.append(
                    Problem(
                        "leak",
                        name,
                        f"{line.slope * 3600 / per:.0f} ± {line.within * 3600 / per:.0f}{unit} an hour, "
                        f"over {times[-1] - times[0]:.0f} s",
                    )
                )
    return found


class Sampler:
    """Samples every process of a pool, by what it is and its id.

    Args:
        processes: names and processes as they are now.
        clock: seconds since the run began.
    """

    def __init__(self, processes: Callable[[], Mapping[str, psutil.Process]], clock: Callable[[], float]) -> None:
        self.samples: dict[str, list[Sample]] = defaultdict(list)
        self._processes = processes
        self._clock = clock
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Sample until `finish`."""
        self._thread.start()

    def finish(self) -> None:
        """Sample no more."""
        self._enough.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._enough.wait(EVERY_S):
            found = self._processes()
            forked = Counter(_worker(name) for name in found if " forked " in name)
            for name, process in found.items():
                others = 0 if " forked " in name else forked[_worker(name)]
                with contextlib.suppress(psutil.Error, OSError, ValueError):
                    self.samples[name].append(measure(process, self._clock(), others))


def _worker(name: str) -> str:
    """ "worker 2" of "worker 2 forked (24901)"."""
    return " ".join(name.split()[:2])
