"""CPU and memory of a whole process tree, and of the machine, from Linux's /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process at one moment.

    Attributes:
        cpu: seconds of user and system time, its own and that of its children that ended.
        rss: bytes resident, pages shared with others counted in full.
    """

    pid: int
    parent: int
    session: int
    cpu: float
    rss: int


def tree(leader: int) -> list[Process]:
    """The processes in the session of `leader`, and their descendants.

    The CPU of an ended process is in that of the parent that waited for it.
    """
    everyone = _everyone()
    return _with_children([each for each in everyone if leader in (each.pid, each.session)], everyone)


def below(ancestor: int) -> list[Process]:
    """The processes that descend from `ancestor`, whatever session they live in, without itself."""
    everyone = _everyone()
    found = _with_children([each for each in everyone if each.pid == ancestor], everyone)
    return [each for each in found if each.pid != ancestor]


def _everyone() -> list[Process]:
    names = [entry.name for entry in _PROC.iterdir()]
    return [process for name in names if name.isdigit() and (process := look(int(name)))]


def _with_children(first: list[Process], everyone: list[Process]) -> list[Process]:
    found = {process.pid: process for process in first}
    more = True
    while more:
        born = [each for each in everyone if each.parent in found and each.pid not in found]
        found.update((each.pid, each) for each in born)
        more = bool(born)
    return list(found.values())


def look(pid: int) -> Process | None:
    """One process, or None when it is gone or not accessible."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name before it stands in parentheses and may hold anything.
    fields = text.rpartition(")")[2].split()
    return Process(pid, int(fields[1]), int(fields[3]), sum(map(int, fields[11:15])) / _TICKS, int(fields[21]) * _PAGE)


def cpu(leader: int) -> float:
    """Seconds of CPU that a tree has used so far."""
    return sum(process.cpu for process in tree(leader))


def pss(pid: int) -> int:
    """Bytes of memory of a process, each shared page divided among its users; 0 when it is gone.

    It is 0, too, where the kernel refuses it, as of a process that may not dump its memory.
    """
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return 1024 * next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


def machine_cpu() -> float:
    """Seconds of CPU that everything on this machine has used so far, and those that a hypervisor took from it."""
    fields = (_PROC / "stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
    return (user + nice + system + irq + softirq + steal) / _TICKS
