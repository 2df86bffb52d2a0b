"""The command `connect`: one module a command, imported only when it is asked for."""

from connect.cli._main import main, standalone_main

__all__ = ["main", "standalone_main"]
