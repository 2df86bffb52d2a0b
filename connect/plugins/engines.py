"""Which engine runs a connector: by its key, its worker's default, and what its class supports."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from connect.api.engine import WORKER, Engine
from connect.errors import ConfigError

#: "module:Class" of each engine beside the worker's loops. A table: nothing is imported before one is asked for.
_ENGINES: Final = {"spark": "spark_sink.engine:SparkEngine", "java": "connect.java.engine:JavaEngine"}


def chosen_engine(connector: type[Any], config: Mapping[str, str], worker: Mapping[str, str]) -> str:
    """The name of the engine.

    Args:
        connector: the connector's class.
        config, worker: configurations, variables filled in.

    Raises:
        ConfigError: the connector cannot run on the requested engine.
    """
    offered = tuple(name for name in connector.engines if name in {WORKER, *_ENGINES})
    if not offered:
        named = " or ".join(connector.engines)
        raise ConfigError("engine", f"{connector.__name__} runs on {named}, which this runtime does not have.")
    asked_for = (config.get("engine") or "").strip()
    if asked_for and asked_for not in offered:
        known = "." if asked_for in {WORKER, *_ENGINES} else f', and there is no engine "{asked_for}".'
        raise ConfigError("engine", f"{connector.__name__} runs on {' or '.join(offered)}{known} Write {offered[0]}.")
    if asked_for:
        return asked_for
    default = (worker.get("engine.default") or WORKER).strip()
    return default if offered[0] == WORKER and default in offered else offered[0]


def spreads(name: str) -> bool:
    """Whether an engine has one task for a connector, and distributes the work itself."""
    return name != WORKER and load_engine(name).spreads


def is_of_engine(partition: object) -> bool:
    """Whether a source partition is an engine's note of its writers, of which no connector knows."""
    return isinstance(partition, dict) and set(partition) == {"writer"}


def keeps_position(name: str) -> bool:
    """Whether it keeps the position of a sink outside of its consumer group."""
    return name != WORKER and load_engine(name).keeps_position


def load_engine(name: str) -> Engine:
    """The engine of that name, other than the worker's own."""
    module, _, attribute = _ENGINES[name].partition(":")
    made: Engine = getattr(import_module(module), attribute)()
    return made
