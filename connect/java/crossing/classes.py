"""The class `Crossing` in the JVM of this process: compiled once by Janino, and kept in the cache."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from connect.errors import ConnectError
from connect.java import jvm
from connect.jvm.cache import cache_path
from connect.jvm.jars import JarsUnavailable, resolve

_SOURCE: Final = Path(__file__).with_name("Crossing.java")
_COMPILER: Final = "janino"


@cache
def crossing() -> Any:
    """The class. Starts the JVM.

    Raises:
        ConnectError: it cannot be compiled, or the compiler cannot be fetched.
    """
    jvm.start()
    source = _SOURCE.read_text(encoding="utf-8")
    folder = cache_path("java-classes") / hashlib.sha256(source.encode()).hexdigest()[:16]
    if not folder.is_dir():
        folder = _keep(_compiled(source), folder)
    return jvm.loaded("Crossing", [folder])


def _compiled(source: str) -> dict[str, bytes]:
    """The class files of a source, by name."""
    try:
        compiler = jvm.loaded("org.codehaus.janino.SimpleCompiler", resolve(_COMPILER))()
    except JarsUnavailable as error:
        raise ConnectError(f"A chain with plug-ins of both languages needs a compiler. {error}") from error
    compiler.setParentClassLoader(jvm.java("java.lang.ClassLoader").getSystemClassLoader())
    jvm.translated(lambda: compiler.cook(source), f"{_SOURCE.name} cannot be compiled")
    return {str(each.getKey()): bytes(each.getValue()) for each in compiler.getBytecodes().entrySet()}


def _keep(classes: dict[str, bytes], folder: Path) -> Path:
    """Write class files at once: another process may do the same. Without a cache, for this process alone."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent))
    except OSError:
        folder = made = Path(tempfile.mkdtemp(prefix="connect-java-"))
    for name, code in classes.items():
        (made / f"{name}.class").write_bytes(code)
    if made != folder:
        try:
            made.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return folder
