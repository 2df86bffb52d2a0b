"""The class `Crossing` in the JVM of this process: compiled once by Janino, and kept in the cache."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from connect.errors import ConnectError
from connect.java import jvm
from connect.jvm.cache import filled_once
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
    return jvm.loaded("Crossing", [filled_once("java-classes", source, partial(_compile, source))])


def _compile(source: str, folder: Path) -> None:
    """Write the class files of a source into a folder."""
    try:
        compiler = jvm.loaded("org.codehaus.janino.SimpleCompiler", resolve(_COMPILER))()
    except JarsUnavailable as error:
        raise ConnectError(f"A chain with plug-ins of both languages needs a compiler. {error}") from error
    compiler.setParentClassLoader(jvm.java("java.lang.ClassLoader").getSystemClassLoader())
    jvm.translated(lambda: compiler.cook(source), f"{_SOURCE.name} cannot be compiled")
    for each in compiler.getBytecodes().entrySet():
        (folder / f"{each.getKey()}.class").write_bytes(bytes(each.getValue()))
