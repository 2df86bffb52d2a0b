"""Sends this project's code to executors that run elsewhere: a zip of the runtime and one of each plug-in folder.

Python imports pure Python from a zip. Compiled packages, such as confluent-kafka and pyarrow, have to be installed in
the executors' Python; so have the compiled libraries of a plug-in folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import logging
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from connect.errors import ConnectError
from connect.plugins.discovery import plugin_folders
from spark_sink.session.masters import Master

log = logging.getLogger(__name__)

PACKAGES: Final = ("connect", "connectors", "transforms", "rest", "spark_sink")
_LEFT_OUT = ("__pycache__", ".git", ".venv", "node_modules")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bytes for the same code


def is_wanted(choice: str, master: Master) -> bool:
    """Whether code is sent, by `spark.ship.code`: auto leaves it out where executors see this machine's files."""
    return choice == "always" or (choice == "auto" and not master.is_local)


def archives(plugin_path: Sequence[str], folder: Path) -> list[Path]:
    """The zips, created in a folder.

    Raises:
        ConnectError: a folder of plugin.path cannot be read.
    """
    runtime = [(name, package) for name in PACKAGES if (package := _folder_of(name)) is not None]
    made = [_zip(folder, "connect-runtime", runtime)]
    for path in plugin_path:
        for each in plugin_folders(Path(path).absolute()):
            if any(each.rglob("*.so")):
                log.warning(
                    "%s holds compiled modules, which executors cannot take from an archive: "
                    "install them in the executors' Python",
                    each,
                )
            made.append(_zip(folder, f"plugin-{each.name}", [("", each)]))
    return made


def ship(spark: Any, zips: Sequence[Path], *, remote: bool) -> None:
    """Have every executor import from these."""
    with _same_path():
        if remote:
            spark.addArtifacts(*map(str, zips), pyfile=True)
            return
        for each in zips:
            spark.sparkContext.addPyFile(str(each))


@contextlib.contextmanager
def _same_path() -> Iterator[None]:
    """PySpark makes the driver import from these as well, which has the originals: restore its path."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before


def _folder_of(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else None


def _zip(folder: Path, name: str, roots: Sequence[tuple[str, Path]]) -> Path:
    """A zip with a hash of its content in its name, so that two versions never meet in a session."""
    temporary = folder / f"{name}.zip"
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for prefix, root in roots:
                for file in _files(root):
                    inside = Path(prefix, file.relative_to(root)).as_posix()
                    archive.writestr(zipfile.ZipInfo(inside, _EPOCH), file.read_bytes(), zipfile.ZIP_DEFLATED)
    except OSError as error:
        raise ConnectError(
            f"The code for Spark's executors cannot be packed: {error.filename}: {error.strerror}. "
            "Fix it, or set spark.ship.code=never where executors have the code installed."
        ) from error
    content = hashlib.sha256(temporary.read_bytes()).hexdigest()[:12]
    return temporary.rename(folder / f"{name}-{content}.zip")


def _files(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).parts
        hidden = any(part in _LEFT_OUT or part.startswith(".") for part in inside)
        if path.is_file() and not hidden and path.suffix not in {".pyc", ".so"}:
            yield path
