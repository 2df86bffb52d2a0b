"""The processes that keep a shared Spark (`spark.shared.session`)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from spark_sink.session.shared import folder_of

_GONE_WITHIN_S = 30


def keepers(folder: Path) -> list[psutil.Process]:
    """Those of every Spark whose folder is in this one, or is this one."""
    found = []
    for each in psutil.process_iter(["cmdline"]):
        line = each.info["cmdline"] or []
        if "spark_sink.session.keeper" in line and any(part.startswith(str(folder)) for part in line):
            found.append(each)
    return found


@contextmanager
def shared(name: str) -> Iterator[dict[str, str]]:
    """The keys of connectors that share a Spark of this name, which nobody else has: it is ended, used or not."""
    folder = folder_of(name)
    try:
        yield {"spark.shared.session": name, "spark.shared.idle.ms": "600000"}
    finally:
        family = [each for keeper in keepers(folder) for each in (*keeper.children(recursive=True), keeper)]
        for each in reversed(family):
            each.kill()
        psutil.wait_procs(family, _GONE_WITHIN_S)
        shutil.rmtree(folder, ignore_errors=True)
