"""Masks secrets in configurations that are read, and restores them in those that are written.

`connect.herder.secret_keys` decides what is secret. Writing back what was read changes nothing: a mask stands for the
stored value, as long as it is still a secret where it is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from connect.herder.errors import BadRequestError, NotFoundError
from connect.herder.herder import Herder
from connect.herder.secret_keys import NOTHING, Declared, declared, named_plugins, together
from connect.telemetry.redaction import MASK, redactor
from rest.errors import ApiError
from rest.security.access import Access
from rest.security.roles import Role


class _Described(msgspec.Struct):
    """From a connector's description."""

    name: str
    config: dict[str, str]


class _Shown(NamedTuple):
    """The masked form of a configuration, while this number of secrets was known."""

    config: dict[str, str]
    shown: dict[str, str]
    hidden: int


_REMEMBERED = 10_000
#: Of a plug-in and its version, in characters. Longer ones are none, but a configuration may have them.
_LONGEST_NAME = 1_000
#: How long until a plug-in that did not answer is asked again.
_AGAIN_S = 10.0


class Masks:
    """For one event loop.

    Args:
        herder: knows what plug-ins declare.
        enabled: rest.mask.secrets; without it all is shown as it was written, as in Kafka Connect.
        access: who may read secrets although they are masked, and who may not although they are not: a user who may not
            change a connector sees none of its secrets in any case.
    """

    def __init__(self, herder: Herder, *, enabled: bool, access: Access) -> None:
        self._herder = herder
        self._enabled = enabled
        self._access = access
        self._shown: dict[tuple[str, int | None], _Shown] = {}
        self._declared: dict[tuple[str, str | None], asyncio.Future[Declared]] = {}

    async def shown(self, config: Mapping[str, str], connector: str, task: int | None = None) -> dict[str, str]:
        """A configuration, of a connector or of a task of it, masked for the caller."""
        # A task's may hold what config providers gave: that is nobody's who may read what the user wrote.
        granted = task is None and self._access.reads_secrets(connector)
        if (granted or not self._enabled) and self._access.may(Role.EDITOR, connector):
            return dict(config)
        # A list of a thousand connectors is asked for again and again, and seldom has another configuration in it.
        before = self._shown.get((connector, task))
        if before is not None and before.hidden == redactor.known and before.config == config:
            return dict(before.shown)
        shown = await self._masked(config)
        if len(self._shown) >= _REMEMBERED:
            self._shown.clear()
        self._shown[connector, task] = _Shown(dict(config), shown, redactor.known)
        return dict(shown)

    async def in_answer(self, body: bytes) -> bytes:
        """Another worker's description of a connector, masked for the caller; any other response as it is."""
        try:
            answer = msgspec.json.decode(body, type=_Described)
        except msgspec.DecodeError:
            return body
        shown = await self.shown(answer.config, answer.name)
        if shown == answer.config:
            return body
        return msgspec.json.encode({**msgspec.json.decode(body), "config": shown})

    async def written(
        self, name: str, config: Mapping[str, str | None], *, part: bool = False, refuse: bool = True
    ) -> dict[str, str | None]:
        """A configuration with stored values in place of their masks.

        Args:
            part: it is a part of one, of which the rest stays; None is a key to remove.
            refuse: without it a mask without a stored value stays.

        Raises:
            ApiError: a mask has no stored value.
        """
        masks = {key: value for key, value in config.items() if value and MASK in value}
        if not self._enabled or not (masks or part):
            return dict(config)
        try:
            stored: Mapping[str, str] = self._herder.info(name).config
        except NotFoundError:
            stored = {}
        read = await self._masked(stored)
        back = {key: stored[key] for key, value in masks.items() if read.get(key) == value}
        result = {**config, **back}
        kept = {key: value for key, value in stored.items() if part and key not in config}
        now = await self._masked({key: value for key, value in {**kept, **result}.items() if value is not None})
        for key, value in masks.items():
            wrong = _wrong(key, value, back.get(key), now[key])
            if wrong and refuse:
                raise ApiError(400, wrong)
            if wrong:
                result[key] = value
        for key, value in kept.items():
            if read[key] not in (value, now[key]):
                raise ApiError(
                    400,
                    f'The value of "{key}" is a secret now. With this change it would no longer be one, and would be'
                    " shown. Remove it, with null as its value, or write another value.",
                )
        return result

    async def _masked(self, config: Mapping[str, str]) -> dict[str, str]:
        plugins = list(named_plugins(config))
        found = await asyncio.gather(*(self._of(plugin.name, plugin.version) for plugin in plugins))
        return together(zip(plugins, found, strict=True)).shown(config)

    async def _of(self, name: str, version: str | None) -> Declared:
        """Cached: asked once for each plug-in that answers."""
        if len(name) + len(version or "") > _LONGEST_NAME:
            return await self._ask(name, version)
        asked = self._declared.get((name, version))
        if asked is None:
            if len(self._declared) >= _REMEMBERED:
                self._declared.clear()
            asked = self._declared[name, version] = asyncio.ensure_future(self._ask(name, version))
        return await asyncio.shield(asked)

    async def _ask(self, name: str, version: str | None) -> Declared:
        try:
            keys = await asyncio.wrap_future(self._herder.plugin_settings(name, version))
        except (NotFoundError, BadRequestError):
            return NOTHING  # it is not here: the names of its keys have to tell
        except Exception:
            # The same if it does not load; but perhaps its process was only busy, or was killed for another's sake.
            asyncio.get_running_loop().call_later(_AGAIN_S, self._forget, name, version)
            return NOTHING
        return declared(keys)

    def _forget(self, name: str, version: str | None) -> None:
        """Ask a plug-in again."""
        self._declared.pop((name, version), None)
        self._shown.clear()


def _wrong(key: str, written: str, stored: str | None, now: str) -> str | None:
    """Why a mask cannot stand for the stored value; None if it can.

    Args:
        written: the value with the mask.
        stored: the value behind the mask; None if there is none.
        now: the stored value masked under the configuration that is written.
    """
    holds = f'The value of "{key}" holds {MASK}'
    itself = "Write the secret itself, or a variable of a config provider."
    if stored is None:
        return f"{holds}, which stands for a secret that is not shown, and no such secret is stored. {itself}"
    if MASK in stored:
        return (
            f"{holds}, and so does the stored value: a worker without masks has written what was read here,"
            f" and the secret is lost. {itself}"
        )
    if now != written:
        return (
            f"{holds}, which stands for a secret, but this configuration does not treat it as one, and would show it."
            " Write the value itself, or remove the key."
        )
    return None
