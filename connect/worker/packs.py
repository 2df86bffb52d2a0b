"""Packs, seen from the worker: processes that several tasks of a plug-in share (`task.isolation`).

A task of a pack looks to its supervisor like one with a process of its own: it has a control pipe, it can be killed, a
descriptor says when it is gone. To kill one ends the process of all; the worker starts the others again at once.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

import msgspec

from connect.settings.isolation_keys import AUTO, PACKED
from connect.worker import messages, pack_process
from connect.worker.channel import Channel
from connect.worker.pack_process import ALONE, ENDED, LEFT_THREADS, LENGTH
from connect.worker.processes import ChildProcess
from connect.worker.spares import Spares

log = logging.getLogger("connect.worker")

#: So many tasks of a worker have processes of their own with `task.isolation=auto`, the others are packed.
FIRST_TASKS: Final = 16
#: Tasks of one pack: of more, one that hangs in C code with the interpreter's lock would stop too many.
MOST_TASKS: Final = 32
#: Bytes of a pack, shared pages included, beyond which its tasks leave it.
MOST_BYTES: Final = 1 << 30
_LOOK_EVERY_S: Final = 10.0

_CLASSES: Final = ("key.", "value.", "header.", "transforms.", "predicates.")
#: What tells tasks apart that may share a process: their pack's name, or whence the code comes that they load.
PackKey = tuple[str, str, str | None, frozenset[str]]


class Child(Protocol):
    """What runs one task: a process, or threads of a pack. See `ChildProcess` for all but `uprooted`.

    Attributes:
        uprooted: why it ended although nothing is wrong with its task, which is to be started again; empty otherwise.
        alone: whether it needs a process of its own then.
    """

    channel: Channel
    pid: int
    sentinel: int
    gone: int
    uprooted: str
    alone: bool

    @property
    def alive(self) -> bool: ...

    @property
    def shares(self) -> int:
        """How many tasks have its process."""

    @property
    def crowded(self) -> bool:
        """Whether it is to leave its pack, which has grown too large."""

    def kill(self) -> None: ...

    def reap(self) -> int: ...


class OwnProcess(ChildProcess):
    """The process of one task alone."""

    uprooted = ""
    alone = False
    crowded = False
    shares = 1


class Pack:
    """A process that tasks share.

    Args:
        engine: the one that it was taken for, if that has spare processes.
        child: the process, if one waited.

    Attributes:
        child: the process.
        members: its tasks.
        beginning: how many more are about to be.
        takes: whether it takes tasks, as far as is known.
        guilty: the task for which it was killed, None when it was not.
    """

    def __init__(self, engine: str = "", child: ChildProcess | None = None) -> None:
        self.engine = engine
        self.child = ChildProcess(pack_process.main, b"") if child is None else child
        self.members: set[PackedTask] = set()
        self.beginning = 1
        self.takes = True
        self.guilty: PackedTask | None = None
        self._code: int | None = None  # once the process is gone, and its descriptors are closed
        self._lock = threading.Lock()
        self._looked = 0.0
        self._size = 0

    def begin(self, spec: messages.TaskSpec, control_pipe: socket.socket, last_word: socket.socket) -> None:
        """Have it run a task. Raises OSError when it is gone."""
        encoded = msgspec.msgpack.encode(spec)
        # The pack's channel carries nothing else, and nothing comes back on it.
        self.child.channel.send_descriptors(LENGTH.pack(len(encoded)) + encoded, [control_pipe, last_word])

    def kill(self, guilty: PackedTask | None) -> None:
        """End it, because of one of its tasks, if one is given."""
        with self._lock:
            if self._code is None:
                if self.guilty is None and self.child.alive:
                    self.guilty = guilty
                self.child.kill()

    def end(self) -> int:
        """End it for good. Returns its exit code."""
        with self._lock:
            if self._code is None:
                self.child.kill()
                self._code = self.child.reap()
            return self._code

    def lives(self) -> bool:
        """Whether its process runs."""
        with self._lock:
            return self._code is None and self.child.alive

    def size(self) -> int:
        """Its memory in bytes, what it shares with the fork server included; 0 when it is gone."""
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY_S:
            self._looked = now
            try:
                resident = int(Path(f"/proc/{self.child.pid}/statm").read_text(encoding="ascii").split()[1])
            except (OSError, IndexError, ValueError):
                resident = 0
            self._size = resident * os.sysconf("SC_PAGE_SIZE")
        return self._size


class PackedTask:
    """One task of a pack; see `Child`."""

    def __init__(self, pack: Pack, spec: messages.TaskSpec, left: Callable[[PackedTask], None]) -> None:
        self.uprooted = ""
        self.alone = False
        self.pid = pack.child.pid
        self._pack = pack
        self._is_named = bool(spec.pack)
        self._left = left
        self._word: bytes | None = None  # its last one; empty when its pack was gone before
        self.channel, control_pipe = Channel.pair()
        ours, theirs = socket.socketpair()
        with control_pipe, theirs:
            try:
                pack.begin(spec, control_pipe, theirs)
            except OSError:
                ours.close()
                self.channel.close()
                raise
        ours.setblocking(False)
        self.sentinel = ours.detach()
        self.gone = os.dup(self.sentinel)
        self._id = spec.id
        pack.members.add(self)

    @property
    def shares(self) -> int:
        return max(1, len(self._pack.members))

    @property
    def crowded(self) -> bool:
        return not self._is_named and self._pack.size() > MOST_BYTES

    @property
    def alive(self) -> bool:
        return self._last_word() is None

    def kill(self) -> None:
        """End it at once: the whole pack, unless it has ended by itself with all that it started."""
        word = self._last_word()
        if word not in (ENDED, ALONE):
            self._pack.kill(None if word == b"" else self)

    def reap(self) -> int:
        """Release its resources here. Returns its exit code; that of the pack if that is why it is gone."""
        word = self._last_word()
        os.close(self.sentinel)
        os.close(self.gone)
        self.channel.close()
        pack = self._pack
        code = 0 if word in (ENDED, ALONE, LEFT_THREADS) else pack.end()
        if word == ALONE:
            self.uprooted, self.alone = "It needs a process of its own.", True
        elif not word and pack.guilty is not self:
            self._was_innocent()
        self._left(self)
        return code

    def _was_innocent(self) -> None:
        guilty = self._pack.guilty
        if guilty is not None:
            self.uprooted = f"{guilty._id} had to be ended, with which it shared a process."
        elif not self._is_named and (len(self._pack.members) > 1 or self.alone):
            # Nobody knows whose code ended the process: each shows it in one of its own, if it does it again.
            self.uprooted, self.alone = "The process ended that it shared with other tasks.", True
            for other in self._pack.members:
                other.alone = True

    def _last_word(self) -> bytes | None:
        """What it said at its end, None while it runs."""
        if self._word is None:
            try:
                self._word = os.read(self.sentinel, 1)
            except BlockingIOError:
                return None
            except OSError:
                self._word = b""
        return self._word


class Packs:
    """The packs of a worker. Methods may be called from any thread.

    Args:
        running: how many tasks the worker has.
        spares: processes that wait for tasks.
    """

    def __init__(self, running: Callable[[], int], spares: Spares) -> None:
        self._running = running
        self._spares = spares
        self._packs: dict[PackKey, list[Pack]] = {}
        self._unfit: set[PackKey] = set()
        self._lock = threading.Lock()  # for moments: the thread that renews leases waits for it
        self._starting = threading.Lock()

    def takes(self, spec: messages.TaskSpec) -> bool:
        """Whether a task is to share a process."""
        wanted = spec.isolation == PACKED or (spec.isolation == AUTO and self._running() >= FIRST_TASKS)
        return wanted and _key(spec) not in self._unfit

    def start(self, spec: messages.TaskSpec) -> PackedTask:
        """Begin a task in a pack that has room, or in a new one.

        Raises:
            OSError: the process cannot be started.
        """
        key = _key(spec)
        with self._starting:
            while (pack := self._with_room(key, is_named=bool(spec.pack))) is not None:
                try:
                    return self._begin(key, pack, spec)
                except OSError:
                    log.debug("a pack does not take %s", spec.id)  # it was killed, or hangs
            pack = self._made(spec.spare, spec.folder)
            with self._lock:
                self._packs.setdefault(key, []).append(pack)
            return self._begin(key, pack, spec)

    def _made(self, engine: str, folder: str | None) -> Pack:
        if not engine:
            return Pack()
        child = self._spares.take(engine, folder)
        try:
            return Pack(engine, child)
        except OSError:
            self._spares.left(engine)
            raise

    def _with_room(self, key: PackKey, *, is_named: bool) -> Pack | None:
        with self._lock:
            for pack in self._packs.get(key, []):
                has_room = len(pack.members) + pack.beginning < MOST_TASKS
                has_room = has_room and (is_named or pack.size() <= MOST_BYTES // 2)
                if has_room and pack.takes and pack.lives():
                    pack.beginning += 1
                    return pack
        return None

    def _begin(self, key: PackKey, pack: Pack, spec: messages.TaskSpec) -> PackedTask:
        try:
            return PackedTask(pack, spec, lambda task: self._left(key, pack, task))
        except OSError:
            pack.takes = False
            raise
        finally:
            with self._lock:
                pack.beginning -= 1
                is_over = self._is_over(key, pack)
            if is_over:
                self._end(pack)

    def _left(self, key: PackKey, pack: Pack, task: PackedTask) -> None:
        with self._lock:
            pack.members.discard(task)
            if task._word in (ALONE, LEFT_THREADS):
                self._unfit.add(key)  # so would its next one
            is_over = self._is_over(key, pack)
        if is_over:
            self._end(pack)

    def _end(self, pack: Pack) -> None:
        pack.end()
        if pack.engine:
            self._spares.left(pack.engine)

    def _is_over(self, key: PackKey, pack: Pack) -> bool:
        """Whether nothing runs or begins in a pack; then nothing will, either."""
        if pack.members or pack.beginning:
            return False
        packs = self._packs.get(key, [])
        if pack in packs:
            packs.remove(pack)
        if not packs:
            self._packs.pop(key, None)
        return True


def _key(spec: messages.TaskSpec) -> PackKey:
    if spec.pack:
        return spec.pack, "", None, frozenset()
    return "", spec.connector_class, spec.folder, frozenset(_classes(spec.connector_config.items()))


def _classes(config: Iterable[tuple[str, str]]) -> Iterable[str]:
    """The converters, transformations and predicates of a connector: they may come from other plug-ins' folders."""
    for key, value in config:
        if key.endswith((".converter", ".type")) and key.startswith(_CLASSES):
            yield f"{key.rpartition('.')[2]} {value}"
        elif key.endswith(".plugin.version") and key.startswith(_CLASSES):
            yield f"{key} {value}"
