"""The command `connect`: one module a command, imported only when it is asked for."""

from connect.cli._main import distributed_main, main, standalone_main

__all__ = ["distributed_main", "main", "standalone_main"]
