"""/connector-plugins: what is installed, its settings, and validation of configurations."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from connect.errors import ConnectError
from connect.herder.plugin_settings import LISTED
from connect.plugins import PluginKind
from rest import bodies
from rest.api import BOOLEAN, Api, ApiDep, describe, flag, json_answer
from rest.errors import ApiError
from rest.models.connectors import Written
from rest.models.plugins import ConfigInfos, ConfigKey, KeyChoices, ListedKeys, Plugin
from rest.rules import SLASH
from rest.security.roles import Role

_CONNECTORS = (PluginKind.SINK, PluginKind.SOURCE)

PluginName = Annotated[str, Path(description="A class name or an alias.")]

router = APIRouter(prefix="/connector-plugins", tags=["plugins"])


@router.get("", **describe(list[Plugin]))
async def plugins(
    api: ApiDep,
    connectors_only: Annotated[
        str | None,
        Query(
            alias="connectorsOnly",
            description="false: converters, transformations too.",
            json_schema_extra={**BOOLEAN, "default": True},
        ),
    ] = None,
) -> Response:
    """The plug-ins of this worker."""
    kinds = _CONNECTORS if flag(connectors_only, default=True) else LISTED
    return json_answer([Plugin.of(ref) for kind in kinds for ref in api.plugins.all(kind)])


@router.get("/{plugin}/config", **describe(list[ConfigKey], errors=(400, 404)))
async def config(
    plugin: PluginName,
    api: ApiDep,
    version: Annotated[str | None, Query(description="A version, a range, or latest (KIP-891).")] = None,
) -> Response:
    """The settings of a plug-in (KIP-769)."""
    found = await api.result(api.herder.plugin_settings(plugin, version))
    return json_answer([ConfigKey.of(key) for key in found])


@router.get("/{plugin}/config/choices", **describe(ListedKeys, errors=(404,)))
async def listed_keys(plugin: PluginName, api: ApiDep) -> Response:
    """The keys of which values can be listed: topics, or what the connector finds in its system."""
    found = await api.result(api.herder.plugin_settings(plugin))
    return json_answer(ListedKeys([key.name for key in found if key.listed is not None]))


@router.put("/{plugin}/config/validate", **describe(ConfigInfos, body=dict[str, Written | None], errors=(400,)))
async def validate(plugin: PluginName, request: Request, api: ApiDep) -> Response:
    """Validate a connector's configuration, key by key. Wrong values are no error of the request."""
    written = await bodies.config(request)
    config = await _unfinished(plugin, written, api)
    nulls = [key for key, value in written.items() if value is None and key != "name"]
    return json_answer(ConfigInfos.of(await api.result(api.herder.validate(config)), nulls))


@router.put("/{plugin}/config/{key}/choices", **describe(KeyChoices, body=dict[str, Written | None], errors=(400,)))
async def choices(
    plugin: PluginName,
    key: Annotated[str, Path(description="The key.")],
    request: Request,
    api: ApiDep,
) -> Response:
    """List the values that a key could have now, for a configuration as far as it is written.

    The connector may connect with it.
    """
    key = key.replace(SLASH, "/")
    config = await _unfinished(plugin, await bodies.config(request), api)
    found = await api.result(api.herder.choices(key, config))
    return json_answer(KeyChoices(key, found.values, found.truncated, found.message or None))


async def _unfinished(plugin: str, written: dict[str, str | None], api: Api) -> dict[str, str]:
    """A configuration that may lack keys, with stored secrets in place of their masks, and without nulls."""
    named = written.setdefault("connector.class", plugin)
    if named is not None and not same_plugin(api, named, plugin):
        raise ApiError(400, f"Included connector type {named} does not match request type {plugin}")
    name = written.get("name") or ""
    if name:  # stored secrets of this connector take the place of masks
        api.access.require(Role.EDITOR, name)
    config = await api.masks.written(name, written, refuse=False)
    return {key: value for key, value in config.items() if value is not None}


def same_plugin(api: Api, one: str, other: str) -> bool:
    """Whether two names are those of one connector plug-in."""
    try:
        return api.plugins.find(_CONNECTORS, one) == api.plugins.find(_CONNECTORS, other)
    except ConnectError:
        return one.removesuffix("Connector").endswith(other.removesuffix("Connector"))
