"""Keeps a shared Spark: starts its Spark Connect server, and ends it when it has no users.

`shared.join` starts it with its folder and its lock, which is an open file: `keeper FOLDER FD`. It starts itself to
release the session of a user that died, whose address is read from standard input: `keeper --release`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from connect.errors import ConnectError, RetriableError
from connect.telemetry import redaction
from spark_sink.session import remote, server
from spark_sink.session.shared import is_held, session_url, write_private

log = logging.getLogger("spark.keeper")

_LOOKS_EVERY = 0.5
_RELEASES_WITHIN = 30.0


class Keeper:
    """Keeps one server until it has no users.

    Args:
        folder: of the shared Spark; see `shared`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended = False

    def run(self) -> int:
        """Start the server, keep it, end it. Returns the exit code."""
        signal.signal(signal.SIGTERM, self._end)
        start = self._folder / "start.json"
        told = json.loads(start.read_text())
        self._idle_s = told["idle"]
        start.unlink()
        redaction.redactor.remember(told["secrets"])
        try:
            serving = server.start(
                told["config"],
                name=f"connect-shared-{told['name']}",
                token=secrets.token_urlsafe(32),
                within=told["within"],
                redact=self._redacted,
                stopping=lambda: self._ended,
            )
        except ConnectError as error:
            log.error("%s", error)
            failed = {"message": str(error), "passing": isinstance(error, RetriableError)}
            write_private(self._folder / "failed.json", failed)
            return 1
        file = self._folder / "server.json"
        with serving:
            self._server = {"port": serving.port, "token": serving.token}
            write_private(file, self._server)
            log.info("serves on port %d", serving.port)
            try:
                return self._keep(serving)
            finally:
                file.unlink(missing_ok=True)

    def _keep(self, serving: server.Server) -> int:
        unused_since = time.monotonic()
        while not self._ended:
            if serving.jvm.ended() is not None:
                log.error("the server ended by itself, with exit code %s", serving.jvm.ended())
                return 1
            if self._has_users():
                unused_since = time.monotonic()
            elif time.monotonic() - unused_since > self._idle_s:
                # Nobody can join while we hold this; who comes now finds no server, and starts one.
                with self._start_lock() as held:
                    if held and not self._has_users():
                        log.info("nobody uses it any more")
                        (self._folder / "server.json").unlink(missing_ok=True)
                        serving.close()
                        return 0
            time.sleep(_LOOKS_EVERY)
        return 0

    def _has_users(self) -> bool:
        living = False
        for file in (self._folder / "users").iterdir():
            if is_held(file):
                living = True
                _learn(file)
            elif file.exists():  # it did not leave by itself in this moment
                self._release(file.name)
                file.unlink(missing_ok=True)
        return living

    def _redacted(self, text: str) -> str:
        """A text of the server's without the secrets of its users, also of one that came just now."""
        for file in (self._folder / "users").iterdir():
            _learn(file)
        return redaction.redactor.redact(text)

    def _release(self, session: str) -> None:
        """End the queries of a user that died. In a process of its own: the client is large, this one lives long."""
        log.info("the user of session %s died", session)
        try:
            subprocess.run(
                [sys.executable, "-m", "spark_sink.session.keeper", "--release"],
                input=session_url(self._server, session),
                text=True,
                timeout=_RELEASES_WITHIN,
                check=False,
            )
        except subprocess.TimeoutExpired:
            log.warning("its session could not be released")

    @contextlib.contextmanager
    def _start_lock(self) -> Iterator[bool]:
        with (self._folder / "start.lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._ended = True


def _learn(file: Path) -> None:
    """Remember the secrets that a user has left in its file, and remove them there."""
    with contextlib.suppress(FileNotFoundError), file.open("r+") as left:
        if told := left.read():
            redaction.redactor.remember(json.loads(told))
            left.truncate(0)


def release(url: str) -> None:
    """Release a session of a server, which ends its queries."""
    from pyspark.sql.connect.session import SparkSession

    spark: Any = SparkSession(connection=url)
    remote.patient_client(spark.client)
    spark.stop()


def main(arguments: list[str]) -> int:
    """Run as the module says."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(redaction.RedactingFilter(redaction.redactor))
    if arguments == ["--release"]:
        release(sys.stdin.read().strip())
        return 0
    # The second argument is the open file with our lock: it is ours until this process ends.
    return Keeper(Path(arguments[0])).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
