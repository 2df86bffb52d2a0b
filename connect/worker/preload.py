"""Imported by the fork server before it forks: modules that many tasks need are loaded once. No client is created here.

Its names are also how a forked process recognises its server.
"""

import contextlib
import gc
import os
import signal
from importlib import import_module

from connect.worker import guard

#: The published set of what every task process has already, in the versions installed beside the runtime.
PROVIDED = ("connect", "msgspec", "orjson", "confluent_kafka", "connect.converters", "connect.worker.task_process")

SERVER_PID = os.getpid()

guard.die_with(os.getppid())
# A terminal and a service manager signal all processes at once, but it is the worker that tells its tasks to stop. A
# handler that does nothing, because programs that a plug-in starts would inherit it if the signal were ignored.
for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(_number, lambda *_: None)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # until here Ctrl-C waited: see `connect.worker.processes`
for _module in PROVIDED:
    with contextlib.suppress(ImportError):
        import_module(_module)
gc.collect()
gc.freeze()  # children share these pages as long as nobody writes to them
