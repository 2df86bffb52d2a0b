"""Imports a connector or a task by "module:Class", in the process that runs it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def load_class(target: str, folder: str | None) -> type[Any]:
    """Import "module:Class", from a plug-in's folder where it has one."""
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    module, _, name = target.partition(":")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]
