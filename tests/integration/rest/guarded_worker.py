"""A worker that asks who its users are, as strangers meet it: distributed, with 1,024 descriptors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from rest.security.passwords import PasswordHash
from tests.integration.distributed.pool import PoolWorker, a_pool
from tests.support.rest import Answer

ADA = {"Authorization": "Basic YWRhOnB3"}  # ada:pw
DESCRIPTORS = 1024


class GuardedWorker(PoolWorker):
    """Asked by ada, who may do everything, unless other headers are given."""

    def __init__(self, folder: Path, settings: Mapping[str, str], *, guarded: bool = True) -> None:
        super().__init__(folder, settings)
        self._command = ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$0" "$@"', *self._command]
        self.audit = folder / "audit.log"
        if guarded:
            users = folder / "users"
            users.write_text(f"ada:{PasswordHash.make('pw')}\n")
            users.chmod(0o600)
            self._settings |= {
                "rest.security.authentication": "basic",
                "rest.security.users.file": str(users),
                "rest.security.audit.log": str(self.audit),
            }

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, timeout: float = 100
    ) -> Answer:
        return super().ask(method, path, body, ADA if headers is None else headers, timeout)

    def lines(self) -> list[dict[str, Any]]:
        """What the audit log says."""
        return [json.loads(line) for line in self.audit.read_text().splitlines()]

    def memory(self) -> int:
        """Resident bytes of the worker itself."""
        found: int = psutil.Process(self.process.pid).memory_info().rss
        return found

    def logged(self) -> int:
        """Bytes of its log and of the audit log."""
        return self.log_file.stat().st_size + (self.audit.stat().st_size if self.audit.exists() else 0)


@contextmanager
def a_guarded_worker(bootstrap: str, folder: Path, *, guarded: bool = True) -> Iterator[GuardedWorker]:
    """One that is alone in its pool, and knows ada."""
    with a_pool(bootstrap, folder) as pool:
        worker = GuardedWorker(folder, pool.settings, guarded=guarded)
        pool.workers.append(worker)
        worker.start()
        pool.until(worker.ready, "the worker answers")
        assert worker.ask("GET", "/connectors").status == 200
        yield worker
