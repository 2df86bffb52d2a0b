"""Levels of Java's loggers at run time: those of SLF4J's simple logger, which has no interface for that.

https://www.slf4j.org/api/org/slf4j/simple/SimpleLogger.html A logger reads its level when it is created, from the
system property of its name or of the nearest one above; then it keeps it in a field.
"""

from __future__ import annotations

from typing import Any, Final

from connect.telemetry.levels import ROOT, levels

_PROPERTY: Final = "org.slf4j.simpleLogger.log."
#: By REST's names: SLF4J's number. It has no FATAL, and OFF by number only.
_NUMBERS: Final = {"OFF": 50, "FATAL": 40, "ERROR": 40, "WARN": 30, "INFO": 20, "DEBUG": 10, "TRACE": 0}
_NAMES: Final = {50: "off", 40: "error", 30: "warn", 20: "info", 10: "debug", 0: "trace"}


def follow() -> None:
    """Give Java's loggers the levels that were set in this process, and those that will be."""
    for name, level in levels.asked():
        set_level(name, level)
    levels.listen(set_level)


def set_level(name: str, level: str) -> None:
    """Set the level of a logger and of those below it, whether they exist already or not.

    Args:
        name: of the logger, a class or a package; `root` for all.
        level: one of `connect.telemetry.levels.LEVELS`.
    """
    number = _NUMBERS[level.upper()]
    system = _class("java.lang.System")
    below = f"{_PROPERTY}{'' if name == ROOT else f'{name}.'}"
    for key in [str(key) for key in system.getProperties().stringPropertyNames()]:
        if key.startswith(below):
            system.clearProperty(key)
    if name == ROOT:
        _set(_configuration(), "defaultLogLevel", number)
    else:
        system.setProperty(f"{_PROPERTY}{name}", _NAMES[number])
    for logger in _made():
        named = str(logger.getName())
        if name in (ROOT, named) or named.startswith(f"{name}."):
            _set(logger, "currentLogLevel", number)


def _class(name: str) -> Any:
    import jpype

    return jpype.JClass(name)


def _made() -> list[Any]:
    factory = _class("org.slf4j.LoggerFactory").getILoggerFactory()
    return list(_field(factory, "loggerMap").get(factory).values())


def _configuration() -> Any:
    simple = _class("org.slf4j.simple.SimpleLogger")
    field = simple.class_.getDeclaredField("CONFIG_PARAMS")
    field.setAccessible(True)
    return field.get(None)


def _set(owner: Any, name: str, number: int) -> None:
    _field(owner, name).setInt(owner, number)


def _field(owner: Any, name: str) -> Any:
    found = owner.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found
