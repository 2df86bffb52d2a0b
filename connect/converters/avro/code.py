"""Generates Python functions line by line: the readers and writers of one schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

#: Python allows 20 blocks within each other; what is nested deeper gets a function of its own.
DEEPEST = 12


class Code:
    """Lines of a module of functions, with the objects that they need bound by name.

    Everything that comes from a schema goes in through `constant` or `repr`; nothing of it becomes code.
    """

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self._constants: dict[str, Any] = dict(constants)
        self._done: list[str] = []
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0

    def __call__(self, *lines: str) -> None:
        """Write lines at the current depth."""
        pad = " " * self._depth
        self._lines.extend(pad + line for line in lines)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What is written within is the body of `head`."""
        self(head)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @property
    def depth(self) -> int:
        """The number of open blocks."""
        return self._depth

    def name(self, prefix: str) -> str:
        """A unique name."""
        self._names += 1
        return f"{prefix}{self._names}"

    def constant(self, value: Any) -> str:
        """The name for this object."""
        name = self.name("k")
        self._constants[name] = value
        return name

    @contextmanager
    def function(self, head: str) -> Iterator[None]:
        """What is written within becomes a function beside the one that is being written."""
        before, self._lines = self._lines, []
        depth, self._depth = self._depth, 0
        try:
            with self.block(head):
                yield
            self._done.extend(self._lines)
        finally:
            self._lines, self._depth = before, depth

    def make(self, name: str) -> Callable[..., Any]:
        """The function of this name."""
        namespace = dict(self._constants)
        exec(compile("\n".join(self._done), f"<{name}>", "exec"), namespace)  # noqa: S102 - see the class
        made: Callable[..., Any] = namespace[name]
        return made
