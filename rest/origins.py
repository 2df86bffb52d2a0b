"""Which web pages may change something.

A browser sends what a page of another site asks for, with the user's password or certificate, though the page may not
see the answer (CSRF). It says in Origin whose page it is. Programs send no Origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

_READS: Final = {"GET", "HEAD", "OPTIONS"}
_PORTS: Final = {"http": 80, "https": 443}


class Origins:
    """The pages.

    Args:
        allowed: origins besides the worker's own, as access.control.allow.origin has them; `*` is any.
    """

    def __init__(self, allowed: Iterable[str]) -> None:
        self._allowed = frozenset(allowed)

    def refusal(self, scope: Scope) -> str | None:
        """What to say to a page that may not do what it asks; None for everybody else."""
        if scope["method"] in _READS or "*" in self._allowed:
            return None
        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
        for name, value in scope["headers"]:
            origin = value.decode("latin-1")
            if name == b"origin" and origin not in self._allowed and not _same(origin, host):
                return (
                    f'A web page of "{origin[:200]}" may not change anything here. If it is to, add its origin to'
                    " access.control.allow.origin of the worker."
                )
        return None


def _same(origin: str, host: str) -> bool:
    """Whether a page comes from where it asks. Not by the scheme: that may end at a proxy."""
    scheme = origin.partition(":")[0].lower()
    own = _place(origin)
    return own is not None and own == _place(f"{scheme}://{host}")


def _place(url: str) -> tuple[str, int] | None:
    try:
        found = urlsplit(url)
        if not found.hostname or found.username is not None:
            return None
        return found.hostname.rstrip("."), found.port or _PORTS[found.scheme]
    except (ValueError, KeyError):
        return None
