"""A pack: a process that several tasks of one plug-in share, each in threads of its own.

A process costs a task about ten megabytes; its threads and clients cost about one. What a task of a pack cannot have is
an end of its own when it does not stop: then the process ends, and the worker starts the other tasks again.

The worker sends the beginnings of tasks through the pack's socket, each with two descriptors: the task's end of its
control pipe, and the task's last word (see `packs`).
"""

from __future__ import annotations

import ctypes
import logging
import os
import socket
import struct
import threading
from typing import Final

import msgspec

from connect.plugins.engines import load_engine
from connect.telemetry.outages import Outages, of_task
from connect.telemetry.redaction import redactor
from connect.worker import messages, task_process
from connect.worker.channel import Channel
from connect.worker.remote_log import Nowhere, channel_of_task, send_logs
from connect.worker.task_threads import TaskThreads, inherit_contexts

log = logging.getLogger("connect.worker")

LENGTH: Final = struct.Struct(">I")
#: The last word of a task: all of its threads have ended.
ENDED: Final = b"e"
#: It has ended, and threads that it started have not.
LEFT_THREADS: Final = b"t"
#: It has not begun: it needs a process of its own.
ALONE: Final = b"a"

#: How long threads of a task may go on behind its stop.
_THREADS_S: Final = 1.0
#: glibc gives threads heaps of their own, which keep what was freed: each of a hundred threads needs none.
_M_ARENA_MAX: Final = -8
_ARENAS: Final = 4


def main(spec: bytes, end: socket.socket) -> None:
    """Run tasks until the worker is gone, or ends this process.

    Args:
        spec: an encoded `Spare`: what to load before the first task comes; empty for nothing.
        end: where the tasks to begin come from.
    """
    task_process.prepare()
    _share_heaps()
    inherit_contexts()
    if spec:
        spare = msgspec.msgpack.decode(spec, type=messages.Spare)
        threading.Thread(target=_load, args=(spare,), name="prepare", daemon=True).start()
    has_logs = False
    while (received := _receive(end)) is not None:
        encoded, control_pipe, last_word = received
        task = msgspec.msgpack.decode(encoded, type=messages.TaskSpec)
        redactor.remember(task.secrets)
        if not has_logs:
            style = task.worker_config.get("log.format", "").strip() or "text"
            send_logs(None, redactor, task.log_level, task.log_levels, style)
            has_logs = True
        threading.Thread(target=_run, args=(task, control_pipe, last_word), name=task.id, daemon=True).start()
    os._exit(0)


def _load(spare: messages.Spare) -> None:
    logging.getLogger().addHandler(logging.NullHandler())
    channel_of_task.set(Nowhere())  # it is for no task, also when one has come meanwhile
    try:
        load_engine(spare.engine).prepare(spare.worker_config, spare.folder)
    except Exception:
        log.debug("%s is not ready", spare.engine, exc_info=True)


def _run(task: messages.TaskSpec, control_pipe: socket.socket, last_word: socket.socket) -> None:
    """Run one task to its end, on a thread of its own."""
    threads, outages = TaskThreads(), Outages()
    outages.leave_telling()
    channel = Channel(control_pipe)
    threads.begin()
    of_task.set(outages)
    channel_of_task.set(channel)
    word = ENDED
    control = task_process.control_of(task, channel)
    try:
        task_process.run(task, control, shared=True)
    except task_process.NeedsOwnProcess:
        word = ALONE
    control.over()
    if left := threads.left_after(_THREADS_S, control.reader):
        log.info("has stopped, and threads that it started go on: %s. Its process is ended.", ", ".join(left))
        word = LEFT_THREADS
    last_word.send(word)
    if word == LEFT_THREADS:
        threading.Event().wait()  # the process ends, and this descriptor with it
    last_word.close()


def _receive(end: socket.socket) -> tuple[bytes, socket.socket, socket.socket] | None:
    """The next task to begin, its end of the control pipe and its last word; None when there is no worker any more."""
    head, descriptors, _, _ = socket.recv_fds(end, LENGTH.size, 2)
    if not head:
        return None
    head += _exactly(end, LENGTH.size - len(head))
    encoded = _exactly(end, LENGTH.unpack(head)[0])
    control_pipe, last_word = (socket.socket(fileno=each) for each in descriptors)
    return encoded, control_pipe, last_word


def _exactly(end: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        data = end.recv(size - len(found))
        if not data:
            os._exit(0)  # the worker has gone in the middle of it
        found += data
    return bytes(found)


def _share_heaps() -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # not in every libc
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)
