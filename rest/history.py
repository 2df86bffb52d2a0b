"""/connectors/{connector}/history: the versions of a connector's configuration, compared and restored. Not in Kafka."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response
from msgspec.structs import asdict

from connect.herder.errors import BadRequestError, NotFoundError
from connect.storage.config_history import ConfigVersion
from rest.api import Api, ApiDep, ConnectorName, describe, json_answer
from rest.connectors import stored_config
from rest.models.connectors import Connector
from rest.models.history import ChangedKey, ChangedKeys, History, HistoryVersion, HistoryVersionInfo
from rest.numbers import WHOLE, whole
from rest.security.access import keys_changed

router = APIRouter(prefix="/connectors/{connector}/history", tags=["connectors"])

_Version = Annotated[
    str, Path(description="A version of the list: its offset in the config topic.", json_schema_extra=WHOLE)
]
_Since = Annotated[
    str | None, Query(description="The version to compare with; by default the one before.", json_schema_extra=WHOLE)
]


@router.get("", **describe(History, errors=(403, 404)))
async def history(connector: ConnectorName, api: ApiDep) -> Response:
    """The versions of a connector's configuration, newest first; also of a deleted connector."""
    versions = await _versions(api, connector)
    before = [*versions[1:], None]
    return json_answer(History([_info(*pair) for pair in zip(versions, before, strict=True)]))


@router.get("/{version}", **describe(HistoryVersion, errors=(400, 403, 404)))
async def history_version(connector: ConnectorName, api: ApiDep, version: _Version, since: _Since = None) -> Response:
    """One version, and what it changed."""
    versions = await _versions(api, connector)
    found = _of(versions, whole("The version", version))
    older = [other for other in versions if other.offset < found.offset]
    compared = whole("since", since)
    other = _of(versions, compared) if compared is not None else older[0] if older else None
    after, before = await _shown(api, found), {} if other is None else await _shown(api, other)
    changed = keys_changed(_config(other), _config(found))
    keys = sorted(key for keys in changed.values() for key in keys)
    return json_answer(
        HistoryVersion(
            **asdict(_info(found, other)),
            since=None if other is None else other.offset,
            config=None if found.config is None else after,
            differences=[ChangedKey(key, before.get(key), after.get(key)) for key in keys],
        )
    )


@router.post(
    "/{version}/restore",
    **describe(Connector, errors=(400, 403, 404, 409), success="It has this configuration again."),
)
async def restore(request: Request, connector: ConnectorName, api: ApiDep, version: _Version) -> Response:
    """Give a connector the configuration of this version; a deleted one is created again."""
    found = _of(await _versions(api, connector), whole("The version", version))
    if found.config is None:
        raise BadRequestError(
            f"Version {found.offset} of connector {connector} is its deletion. Restore an earlier one."
        )
    config = dict(found.config)
    api.access.changes(connector, **keys_changed(stored_config(api, connector), config))
    path = f"/connectors/{quote(connector, safe='')}/config"
    await api.forwarding.to_leader(request, msgspec.json.encode(config), api.masks.in_answer, put_to=path)
    change = await api.result(api.herder.put_connector(connector, config, by=api.access.author()))
    return json_answer(Connector.of(change.info, await api.masks.shown(change.info.config, connector)))


async def _versions(api: Api, connector: str) -> list[ConfigVersion]:
    versions = await api.result(api.herder.history(connector))
    if not versions:
        api.herder.info(connector)  # refuses an unknown connector
        raise NotFoundError(f"The history has no version of connector {connector} yet.")
    return versions


def _of(versions: Sequence[ConfigVersion], offset: int) -> ConfigVersion:
    for version in versions:
        if version.offset == offset:
            return version
    raise NotFoundError(f"The history has no version {offset} of connector {versions[0].connector}.")


async def _shown(api: Api, version: ConfigVersion) -> dict[str, str]:
    return {} if version.config is None else await api.masks.shown(version.config, version.connector)


def _info(version: ConfigVersion, before: ConfigVersion | None) -> HistoryVersionInfo:
    changes = ChangedKeys(**keys_changed(_config(before), _config(version)))
    return HistoryVersionInfo(version.offset, version.at, version.by, version.config is None, changes)


def _config(version: ConfigVersion | None) -> Mapping[str, str]:
    return {} if version is None or version.config is None else version.config
