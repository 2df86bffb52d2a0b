"""Tasks and connectors that try their runtime: they hang, crash, flood, or hold the interpreter, as configured."""

import contextlib
import ctypes
import itertools
import logging
import os
import signal
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from connect import ConnectError, RetriableError, SourceConnector, SourceRecord, SourceTask, settings
from connect.settings import ConfigValue
from connect.worker.lease import now

log = logging.getLogger("trying")


class TryingTask(SourceTask):
    """Does `do` at its first poll. Notes the moment of each poll in the file `note`."""

    def start(self, config: Mapping[str, str]) -> None:
        self.config = config
        self.note = config.get("note")
        if config["do"] == "fail to start":
            raise ConnectError("cannot start")

    def poll(self) -> list[SourceRecord] | None:
        if self.note:
            Path(self.note).write_text(repr(now()))
        return getattr(self, "do_" + self.config["do"].replace(" ", "_"))()  # type: ignore[no-any-return]

    def stop(self) -> None:
        if self.config["do"] == "never stop":
            threading.Event().wait()

    def do_idle(self) -> None:
        pass

    do_never_stop = do_idle

    def do_start_a_thread(self) -> None:
        threading.Thread(target=threading.Event().wait, name="left", daemon=True).start()
        self.config = {**self.config, "do": "idle"}

    def do_log(self) -> None:
        log.warning("the password is %s", self.config["secret"])
        log.info("%d", "does not fit")
        log.debug("not for everybody")
        self.config = {**self.config, "do": "idle"}

    def do_raise(self) -> None:
        raise ValueError(f"cannot log in with {self.config.get('secret')}")

    def do_refuse(self) -> None:
        raise KeyError("gone")

    def do_hang(self) -> None:
        threading.Event().wait()

    def do_hold_the_interpreter(self) -> None:
        ctypes.PyDLL(None).sleep(1000)

    def do_exit(self) -> None:
        os._exit(7)

    def do_crash(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_leave(self) -> None:
        raise SystemExit(3)

    def do_flood(self) -> None:
        while True:
            log.warning("x" * 1000)

    def do_write_garbage(self) -> None:
        self._pipe().send(b"\x00\x00\x00\x04\xff\xff\xff\xff")
        threading.Event().wait()

    def do_write_a_giant(self) -> None:
        self._pipe().send(b"\xff" * 64)
        threading.Event().wait()

    def do_say_deep(self) -> None:
        said = b"\x83\xa4type\xaaAskOffsets\xa8question\x01\xaapartitions\x91\x81\xa1a" + b"\x91" * 5000
        self._pipe().sendall(len(said).to_bytes(4, "big") + said)
        threading.Event().wait()

    def do_say_no_text(self) -> None:
        said = b"\x85\xa4type\xa3Log\xa5level\x14\xa6logger\xa1\xff\xa4text\xa1a\xa7created\x01"
        self._pipe().sendall(len(said).to_bytes(4, "big") + said)
        threading.Event().wait()

    def do_log_too_much(self) -> None:
        log.warning("%s", "x" * 3_000_000)

    def do_raise_too_much(self) -> None:
        raise ValueError("a" * 3_000_000 + "\udcff the end")

    def do_ask_and_not_listen(self) -> None:
        from connect.worker.messages import AskOffsets

        self.context._control._channel.receive = threading.Event().wait  # type: ignore[attr-defined]
        question = 0
        while True:
            question += 1
            self.context._control.send(AskOffsets(question, [{"a": "x" * 10_000}]))  # type: ignore[attr-defined]

    def do_ask_nonsense(self) -> None:
        self.context.offset({1: 2})  # type: ignore[dict-item]

    def do_close_the_pipe(self) -> None:
        os.close(self._pipe().fileno())
        threading.Event().wait()

    def _pipe(self) -> Any:
        return self.context._control._channel._socket  # type: ignore[attr-defined]


class NoTask:
    """Is no task."""


class NoTaskConnector(SourceConnector):
    task = NoTask


class TryingConnector(SourceConnector):
    """Does `<method>.do` in its methods. Makes the file `closed` when what it opened is closed."""

    task = TryingTask
    settings = settings.define(
        without_effect={"pool.*": "this one has none", "pool.min": settings.WithoutEffect("this one has none", ("1",))}
    )

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        if "hangs.once" in config:
            with Path(config["hangs.once"]).open("a+") as notes:
                notes.write("asked\n")
                first = notes.tell() == len("asked\n")
            if first:
                threading.Event().wait()
        return super().validate(config)

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        if "closed" in config:
            self.context.exit_stack.callback(Path(config["closed"]).touch)
        self._try("start")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        self._try("task_configs")
        return [{"number": str(number), "pid": str(os.getpid())} for number in range(max_tasks)]

    def stop(self) -> None:
        self._try("stop")

    def choices(self, key: str, config: Mapping[str, str]) -> Iterable[str] | None:
        """None for the key `secret`; else this process, and numbers without end."""
        self.config = dict(config)
        self._try("choices")
        return None if key == "secret" else map(str, itertools.chain([os.getpid()], itertools.count()))

    def _try(self, method: str) -> None:
        match self.config.get(f"{method}.do"):
            case "raise":
                raise ValueError(f"cannot log in with {self.config.get('secret')}")
            case "retry":
                raise RetriableError("not now")
            case "hang":
                threading.Event().wait()
            case "hold the interpreter":
                ctypes.PyDLL(None).sleep(1000)
            case "exit":
                os._exit(7)
            case "crash":
                signal.raise_signal(signal.SIGSEGV)
            case "leave":
                raise SystemExit(3)
            case "ask":
                self.context.request_task_reconfiguration()
                log.warning("offset %s of %s", self.context.offset({"file": "a"}), self.context.name)
            case "fail later":
                error = ValueError(f"cannot log in with {self.config.get('secret')}")
                threading.Thread(target=self.context.raise_error, args=[error]).start()
            case "exit later":
                threading.Thread(target=_exit_when, args=[Path(self.config["when"])]).start()


class MappingConnector(TryingConnector):
    """Cuts its work into a mapping, not into a list of them."""

    def task_configs(self, max_tasks: int) -> Any:
        return {"number": "0"}


class LonelyConnector(TryingConnector):
    """Shares no process."""

    own_process = True


def _exit_when(file: Path) -> None:
    with contextlib.suppress(OSError):
        while not file.exists():
            time.sleep(0.01)
    os._exit(7)
