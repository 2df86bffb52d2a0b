"""Limits of this machine or container: open files, processes, memory."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from connect.cli._doctor.finding import Finding, note, ok, warning
from connect.cli._doctor.subject import Subject
from connect.cli._table import counted

#: As docs/performance.md measures: a pool's worker with 1,000 connectors of one task takes 10.5 MB for each of them.
_TASK: Final = 11 << 20
#: A worker with one or two connectors takes 86 to 195 MB with all of its processes.
_WORKER: Final = 120 << 20
#: What a client may hold besides: producer.buffer.memory, and the consumer's queue.
_PRODUCER: Final = 32 << 20
_CONSUMER: Final = 64 << 20
#: Descriptors that a worker needs for itself and for a REST API with some clients; for each task: pipes, connections.
_OWN_FILES: Final = 512
_TASK_FILES: Final = 8
_MIB: Final = 1 << 20

_CGROUP: Final = Path("/sys/fs/cgroup")


def check(subject: Subject) -> Iterator[Finding]:
    """Each limit, compared with what the given connectors need."""
    tasks = sum(_tasks_of(config) for config in subject.configs.values())
    yield open_files(tasks, *resource.getrlimit(resource.RLIMIT_NOFILE))
    yield processes(tasks, _process_limit())
    yield memory(tasks, _needed(subject), memory_limit())


def open_files(tasks: int, soft: int, hard: int) -> Finding:
    """Whether a worker's process may open enough files."""
    what = "open files (ulimit -n)"
    wanted = _OWN_FILES + _TASK_FILES * tasks
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return ok(what, f"{'no limit' if soft == resource.RLIM_INFINITY else f'up to {soft:,}'}.")
    most = "it" if hard == resource.RLIM_INFINITY or hard >= wanted else "the hard limit, too,"
    return warning(what, f"only {soft:,}, and a worker may need {wanted:,}.", f"Raise {most} to {wanted:,} or more.")


def processes(tasks: int, limit: int | None) -> Finding:
    """Whether there may be enough processes: each task is one."""
    what = "processes (ulimit -u, pids.max)"
    wanted = 3 * (tasks + 10)  # each has some threads, which count
    if limit is None:
        return ok(what, "no limit.")
    if limit < wanted:
        advice = f"Raise it to {wanted:,} or more: each task is a process of its own."
        return warning(what, f"only {limit:,}, and a worker may need {wanted:,}.", advice)
    return ok(what, f"up to {limit:,}.")


def memory(tasks: int, needed: int, limit: tuple[int, str] | None) -> Finding:
    """Whether memory is enough for the buffers that are configured. `limit` is in bytes, with whose it is."""
    of_what = f"a worker with {counted(tasks, 'task')}" if tasks else "a worker without tasks"
    if limit is None:
        return note("memory", "how much there is, is not seen.")
    there, whose = limit
    said = f"{there // _MIB:,} MiB {whose}, and {of_what} may take {needed // _MIB:,} MiB when all buffers are full"
    if needed > there:
        return warning("memory", f"{said}.", "Give it more, or lower buffer.memory and tasks.max.")
    return ok("memory", f"{said}.")


def memory_limit(cgroup: Path = _CGROUP, meminfo: Path = Path("/proc/meminfo")) -> tuple[int, str] | None:
    """The memory that this process may use: the cgroup's limit where it has one, else the available memory."""
    for file in (cgroup / "memory.max", cgroup / "memory" / "memory.limit_in_bytes"):
        text = _text(file)
        if text.isdecimal() and int(text) < 1 << 60:  # version 1 writes a number of that size for none
            return int(text), "are the limit of this container"
    for line in _text(meminfo).splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) << 10, "are available"
    return None


def _needed(subject: Subject) -> int:
    return _WORKER + sum(
        _tasks_of(config) * (_TASK + _buffer(config, subject.raw)) for config in subject.configs.values()
    )


def _buffer(config: Mapping[str, str], raw: Mapping[str, str]) -> int:
    if config.get("topics") or config.get("topics.regex"):
        return _CONSUMER
    for given in (config.get("producer.override.buffer.memory"), raw.get("producer.buffer.memory")):
        if given and given.strip().isdecimal():
            return int(given)
    return _PRODUCER


def _tasks_of(config: Mapping[str, str]) -> int:
    text = config.get("tasks.max", "1").strip()
    return max(1, int(text)) if text.isdecimal() else 1


def _process_limit() -> int | None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    pids = _text(_CGROUP / "pids.max")
    limits = [int(pids)] if pids.isdecimal() else []
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    return min(limits, default=None)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
