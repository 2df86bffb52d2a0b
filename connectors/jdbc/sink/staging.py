"""The temporary tables of a session through which rows pass."""

from __future__ import annotations

from typing import Final

from connectors.jdbc.sink.statements import Layout

#: How many a session has at most. Records whose fields come and go have ever new columns.
MOST: Final = 50


class Staging:
    """Which table is for rows of which layout. Numbers outlive their tables, so that few names are used."""

    def __init__(self) -> None:
        self._names: dict[Layout, str] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    def get(self, layout: Layout) -> str | None:
        """The table for such rows; None where there is none yet."""
        return self._names.get(layout)

    def new_name(self, layout: Layout) -> str:
        """The name for a new one. A table of that name may be there, for rows of another time."""
        which = layout.target.quoted, ", ".join(layout.names)
        if which not in self._numbers and len(self._numbers) >= MOST:
            self._numbers.clear()
            self._names.clear()
        return f"connect_staging_{self._numbers.setdefault(which, len(self._numbers))}"

    def made(self, layout: Layout, name: str) -> None:
        """It was made."""
        self._names[layout] = name

    def forget(self) -> None:
        """They may be gone, with their session or by a rollback."""
        self._names.clear()
