"""The keys of the sink: Confluent's names, meanings and defaults; Aiven's names are accepted as well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from connect import settings
from connect.settings import WithoutEffect
from connectors.objects import connection
from connectors.objects.sink import named_keys
from connectors.objects.sink.keys import ObjectOptions
from connectors.objects.store import Store

_CONTAINER: Final = "Container"

#: The largest that Confluent's connector takes; the service itself takes 4,000 MiB.
_LARGEST_PART: Final = 100 * named_keys.MIB
EXPONENTIAL: Final = "exponential"
FIXED: Final = "fixed"


def _container(_: str, value: str) -> None:
    if not re.fullmatch(r"\$root|(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*", value):
        raise ValueError(
            f'"{value}" is not the name of a container: 3 to 63 lower-case letters, digits and single hyphens.'
        )


class AzureBlobSinkOptions(
    ObjectOptions,
    aliases={
        "azure.storage.connection.string": "azblob.connection.string",
        "azure.storage.container.name": "azblob.container.name",
        "azure.retry.backoff.initial.delay.ms": "azblob.retry.backoff.ms",
        "azure.retry.backoff.max.delay.ms": "azblob.retry.max.backoff.ms",
    },
    without_effect={
        "storage.class": WithoutEffect(
            "this sink writes to Azure Blob Storage only",
            unless=("io.confluent.connect.azure.blob.storage.AzureBlobStorage",),
        ),
        "azure.retry.backoff.max.attempts": "azblob.retry.retries says how often a request is repeated",
        "azure.user.agent": "the client says its own name",
    },
):
    """The keys as values.

    Attributes:
        endpoint: the address of the account, or "" for Azure's own.
        retry_type: `EXPONENTIAL` or `FIXED`.
        backoff, longest_backoff, connect_timeout, request_timeout: in seconds.
    """

    container = settings.String(
        "azblob.container.name",
        default="default",
        importance="HIGH",
        group=_CONTAINER,
        validator=_container,
        doc="The container. It must exist.",
    )
    account = settings.String(
        "azblob.account.name",
        default="",
        importance="HIGH",
        group=_CONTAINER,
        doc="The storage account. With nothing of the following keys, azure-identity looks for credentials: the "
        "environment, a workload's or a machine's managed identity, Azure's command line.",
    )
    account_key = settings.Password(
        "azblob.account.key", default=None, importance="HIGH", group=_CONTAINER, doc="A key of the account."
    )
    sas_token = settings.Password(
        "azblob.sas.token",
        default=None,
        group=_CONTAINER,
        doc="A shared access signature in place of the key, with the rights to read, create and write blobs.",
    )
    connection_string = settings.Password(
        "azblob.connection.string",
        default=None,
        group=_CONTAINER,
        doc="Account, key and address in one text, as Azure's portal shows it, in place of the keys above.",
    )
    endpoint = settings.String(
        "azblob.endpoint",
        default="",
        importance="LOW",
        group=_CONTAINER,
        width="LONG",
        validator=connection.check_address,
        doc="The address of the account where it is not https://ACCOUNT.blob.core.windows.net: another cloud's, or a "
        "server's that speaks Azure's protocol.",
    )
    proxy = connection.proxy_url("azblob.proxy.url")
    proxy_user = connection.proxy_user("azblob.proxy.user")
    proxy_password = connection.proxy_password("azblob.proxy.password")
    retry_type = settings.String(
        "azblob.retry.type",
        default="EXPONENTIAL",
        importance="LOW",
        group=connection.CONNECTION,
        validator=settings.one_of(EXPONENTIAL, FIXED, ignore_case=True),
        convert=str.lower,
        doc="How the pauses between a request and its repetition grow: EXPONENTIAL (each is twice as long as the one "
        "before, with jitter) or FIXED.",
    )
    retries = connection.retries("azblob.retry.retries")
    backoff = connection.backoff("azblob.retry.backoff.ms", 4000)
    longest_backoff = connection.longest_backoff("azblob.retry.max.backoff.ms", 120_000)
    connect_timeout = connection.connect_timeout("azblob.connection.timeout.ms", 30_000)
    request_timeout = connection.request_timeout("azblob.request.timeout.ms")
    compression_type = named_keys.compression_type("az.compression.type")
    compression_level = named_keys.compression_level("az.compression.level")
    part_size = named_keys.part_size("azblob.block.size", Store.smallest_part, _LARGEST_PART)
    memory = named_keys.memory("azblob.memory.bytes", "azblob.spill.dir", Store.smallest_part)
    spill_folder = named_keys.spill_folder("azblob.spill.dir", "azblob.block.size")
    threads = named_keys.threads("azblob.upload.threads")

    @staticmethod
    def problems(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Keys that contradict each other: the key at fault, and why. Looks only at keys that are present."""
        name = "azblob.account.name"
        given = [
            key
            for key in ("azblob.connection.string", "azblob.account.key", "azblob.sas.token")
            if (secret := parsed.get(key)) and secret.reveal()
        ]
        if len(given) > 1:
            return [(given[1], f"contradicts {given[0]}. Remove one of them.")]
        if "azblob.connection.string" not in given and name in parsed and not parsed[name]:
            return [(name, "is required, or azblob.connection.string.")]
        return []
