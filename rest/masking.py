"""Hides what is secret in configurations that are read, and puts it back into those that are written.

Secret is what a plug-in declares as PASSWORD; of keys that nobody declares, those whose name says so; and passwords
inside of URLs. Whoever writes back what was read changes nothing: a value that is shown stands for the stored one.
Variables of config providers (`${file:/etc/orders:password}`) are no secrets and are shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from connect.herder.herder import Herder, NotFoundError
from connect.telemetry.redaction import MASK, names_a_secret, redactor
from connect.telemetry.redaction import shown as shown_if
from rest.errors import ApiError
from rest.security.access import Access
from rest.security.roles import Role

_CONVERTERS = ("key.converter", "value.converter", "header.converter")


class _Declared(NamedTuple):
    known: frozenset[str]
    secret: frozenset[str]


class _Shown(NamedTuple):
    config: dict[str, str]
    shown: dict[str, str]
    hidden: int


_REMEMBERED = 10_000
_NOTHING = _Declared(frozenset(), frozenset())


class Masks:
    """Used from one event loop.

    Args:
        herder: tells what plug-ins declare.
        enabled: rest.mask.secrets; without it all is shown as it was written, as in Kafka Connect.
        access: who may not change a connector sees none of its secrets in any case.
    """

    def __init__(self, herder: Herder, *, enabled: bool, access: Access) -> None:
        self._herder = herder
        self._enabled = enabled
        self._access = access
        self._shown: dict[tuple[str, bool], _Shown] = {}
        self._declared: dict[tuple[str, str | None], asyncio.Future[_Declared]] = {}

    async def shown(self, config: Mapping[str, str], connector: str) -> dict[str, str]:
        """A configuration, of a connector or one of its tasks, as it may be read."""
        if not self._enabled and self._access.may(Role.EDITOR, connector):
            return dict(config)
        # A list of a thousand connectors is asked for again and again, and seldom has another configuration in it.
        place = config.get("name", ""), "task.class" in config
        before = self._shown.get(place)
        if before is not None and before.hidden == redactor.known and before.config == config:
            return dict(before.shown)
        known, secret = await self._keys(config)
        shown = {
            key: shown_if(value, secret=key in secret or (key not in known and names_a_secret(key)))
            for key, value in config.items()
        }
        if len(self._shown) >= _REMEMBERED:
            self._shown.clear()
        self._shown[place] = _Shown(dict(config), shown, redactor.known)
        return dict(shown)

    async def written(
        self, name: str, config: Mapping[str, str | None], *, refuse: bool = True
    ) -> dict[str, str | None]:
        """A configuration, or a part of one, with what is stored in the place of what is shown of it.

        Raises:
            ApiError: there is a mask that stands for nothing; only if `refuse`.
        """
        if not self._enabled or not any(MASK in value for value in config.values() if value):
            return dict(config)
        try:
            stored: Mapping[str, str] = self._herder.info(name).config
        except NotFoundError:
            stored = {}
        shown = await self.shown(stored, name)
        result = dict(config)
        for key, value in config.items():
            if not value or MASK not in value:
                continue
            if shown.get(key) == value:
                result[key] = stored[key]
            elif refuse:
                raise ApiError(
                    400,
                    f'The value of "{key}" holds {MASK}, which stands for a secret that is not shown, and no such'
                    " secret is stored. Write the secret itself, or a variable of a config provider.",
                )
        return result

    async def _keys(self, config: Mapping[str, str]) -> _Declared:
        """The keys that plug-ins of this configuration declare, and which of them are PASSWORD."""
        parts = list(_plugins(config))
        found = await asyncio.gather(*(self._of(name, version) for _, name, version in parts))
        known: set[str] = set()
        secret: set[str] = set()
        for (prefix, _, _), declared in zip(parts, found, strict=True):
            known |= {prefix + key for key in declared.known}
            secret |= {prefix + key for key in declared.secret}
        return _Declared(frozenset(known), frozenset(secret))

    async def _of(self, name: str, version: str | None) -> _Declared:
        """Asked once for each plug-in."""
        asked = self._declared.get((name, version))
        if asked is None:
            asked = self._declared[name, version] = asyncio.ensure_future(self._ask(name, version))
        return await asyncio.shield(asked)

    async def _ask(self, name: str, version: str | None) -> _Declared:
        try:
            keys = await asyncio.wrap_future(self._herder.plugin_settings(name, version))
        except Exception:
            # It is not here, or does not load: the names of its keys have to tell.
            return _NOTHING
        return _Declared(
            frozenset(key["name"] for key in keys),
            frozenset(key["name"] for key in keys if key["type"] == "PASSWORD"),
        )


def _plugins(config: Mapping[str, str]) -> Iterable[tuple[str, str, str | None]]:
    """The prefix of the keys, the name and the version of every plug-in in a configuration."""
    if name := config.get("connector.class"):
        yield "", name, config.get("connector.plugin.version")
    for key in _CONVERTERS:
        if name := config.get(key):
            yield f"{key}.", name, config.get(f"{key}.plugin.version")
    for what in ("transforms", "predicates"):
        for alias in filter(None, (part.strip() for part in (config.get(what) or "").split(","))):
            prefix = f"{what}.{alias}."
            if name := config.get(f"{prefix}type"):
                yield prefix, name, config.get(f"{prefix}plugin.version")
