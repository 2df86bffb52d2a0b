"""The container as the sink's store."""

from __future__ import annotations

import importlib.util
import logging
import uuid
from collections.abc import Mapping
from typing import Any, Final

from connect import ConfigError, ConnectError
from connect.errors import one_line
from connect.kit import backoff
from connect.kit.failures import origin
from connectors.azure.keys import FIXED, AzureBlobSinkOptions
from connectors.objects.connection import with_user
from connectors.objects.store import (
    CONFLICT,
    CREDENTIALS,
    MALFORMED,
    MISSING,
    OTHER,
    REFUSED,
    THROTTLED,
    TIMEOUT,
    UNREACHABLE,
    Failure,
    Lost,
    RequestTimes,
    Store,
    Upload,
    check_existing,
    last_of,
    told,
)

#: A blob up to this size is made by one request.
_ONE_REQUEST: Final = 256 << 20
_EXISTS: Final = ("BlobAlreadyExists", "ConditionNotMet", "UnauthorizedBlobOverwrite")
#: Azure's error codes where the status does not say enough: their class, and whether the request may succeed later.
_CODES: Final = {
    "AuthenticationFailed": (CREDENTIALS, False),
    "InvalidAuthenticationInfo": (CREDENTIALS, False),
    "NoAuthenticationInformation": (CREDENTIALS, False),
    "ServerBusy": (THROTTLED, True),
    "OperationTimedOut": (TIMEOUT, True),
    "ContainerBeingDeleted": (MISSING, True),
    # Another task has written this blob meanwhile: the sink begins again.
    "InvalidBlockList": (CONFLICT, True),
}
_STATUS: Final = {
    400: (MALFORMED, False),
    401: (CREDENTIALS, False),
    403: (REFUSED, False),
    404: (MISSING, False),
    408: (TIMEOUT, True),
    409: (CONFLICT, True),
    412: (CONFLICT, False),
    429: (THROTTLED, True),
}
_ADVICE: Final = {
    "AuthenticationFailed": "Check azblob.account.name and its key, and this machine's clock.",
    "NoAuthenticationInformation": "Set azblob.account.key, azblob.sas.token or azblob.connection.string.",
    "ContainerNotFound": "Create the container, or check azblob.container.name.",
    "AuthorizationPermissionMismatch": "The identity needs the role Storage Blob Data Contributor.",
    "AuthorizationFailure": "Check azblob.account.name and its key; the account's firewall may refuse them, too.",
}


class AzureStore(Store):
    """A container of Azure Blob Storage.

    Args:
        options: the keys.

    Raises:
        ConnectError: the client is not installed.
        ConfigError: the connection string is wrong.
    """

    def __init__(self, options: AzureBlobSinkOptions) -> None:
        self._container = _client(options)
        self.name = options.container
        self.where = f"container {options.container} of {origin(self._container.primary_endpoint)}"
        self._times = RequestTimes()

    def upload(
        self, key: str, content_type: str, first: int, rules: str, *, topic: str, conditional: bool
    ) -> AzureUpload:
        blob = self._container.get_blob_client(key)
        return AzureUpload(blob, self._times, self.where, content_type, first, rules, topic, conditional=conditional)

    def last_offset(self, key: str, topic: str) -> int | None:
        from azure.core.exceptions import AzureError

        try:
            with self._times.measure("get_properties"):
                said = self._container.get_blob_client(key).get_blob_properties().metadata
        except (AzureError, OSError):
            return None
        return last_of(_said(said), topic)

    def failure(self, error: BaseException, doing: str) -> Failure:
        return _failure(error, f"Azure Blob Storage failed {doing} in {self.where}")

    def close(self) -> None:
        self._container.close()

    def measured(self) -> list[tuple[str, float]]:
        return self._times.measured()


class AzureUpload(Upload):
    """The upload of one blob: in one request, or in blocks that a list makes a blob of.

    A blob gets its metadata with the list, so it always says which records it holds. Blocks that no list names are
    gone after a week, or when somebody writes the blob: none are left to be removed.

    Args:
        blob: the client of the blob.
        times: where requests are measured.
        where: the container, for messages.
        content_type: its MIME type.
        first: the offset of its first record.
        rules: what decided where it ends, or "".
        topic: that its records were consumed from.
        conditional: whether an existing blob is left alone.
    """

    def __init__(
        self,
        blob: Any,
        times: RequestTimes,
        where: str,
        content_type: str,
        first: int,
        rules: str,
        topic: str,
        *,
        conditional: bool,
    ) -> None:
        self.key: str = blob.blob_name
        self._blob = blob
        self._times = times
        self._where = where
        self._content_type = content_type
        self._first = first
        self._rules = rules
        self._topic = topic
        self._conditional = conditional
        # Another task may send blocks of the same blob: the name of a block says whose it is.
        self._identity = uuid.uuid4().hex
        self._blocks: list[str] = []

    def put(self, body: bytes, last: int, records: int) -> None:
        from azure.core.exceptions import HttpResponseError

        try:
            with self._times.measure("put_blob"):
                self._blob.upload_blob(
                    body, length=len(body), overwrite=not self._conditional, **self._described(last, records)
                )
        except HttpResponseError as error:
            if _code(error) not in _EXISTS:
                raise
            self._look(last, error)

    def part(self, body: bytes) -> None:
        block = f"{self._identity}-{len(self._blocks):06d}"  # all of a blob must have the same length
        with self._times.measure("put_block"):
            self._blob.stage_block(block, body, length=len(body))
        self._blocks.append(block)

    def complete(self, last: int, records: int) -> None:
        from azure.core import MatchConditions
        from azure.core.exceptions import HttpResponseError
        from azure.storage.blob import BlobBlock

        condition = {"match_condition": MatchConditions.IfMissing} if self._conditional else {}
        try:
            with self._times.measure("put_block_list"):
                blocks = [BlobBlock(block_id=block) for block in self._blocks]
                self._blob.commit_block_list(blocks, **self._described(last, records), **condition)
        except HttpResponseError as error:
            # Whoever writes a blob discards the blocks that others have sent for it.
            lost = Lost(error) if _code(error) == "InvalidBlockList" else None
            if lost is not None and not self._conditional:
                raise lost from error
            if lost is None and _code(error) not in _EXISTS:
                raise
            self._look(last, lost or error)

    def abort(self) -> None:
        self._blocks = []

    def _described(self, last: int, records: int) -> dict[str, Any]:
        from azure.storage.blob import ContentSettings

        said = told(self._first, last, records, self._rules, self._topic)
        return {
            "metadata": {_identifier(name): value for name, value in said.items()},
            "content_settings": ContentSettings(content_type=self._content_type),
        }

    def _look(self, last: int, refused: Exception) -> None:
        """Check the existing blob: see `check_existing`. `refused`: what to raise if there is none."""
        from azure.core.exceptions import ResourceNotFoundError

        try:
            with self._times.measure("get_properties"):
                found = self._blob.get_blob_properties().metadata
        except ResourceNotFoundError:
            raise refused from None
        check_existing(_said(found), last, self._rules, self._topic, key=self.key, where=self._where)


def _identifier(name: str) -> str:
    """The name of metadata as Azure has it: it must be an identifier."""
    return name.replace("-", "_")


def _said(metadata: Mapping[str, str] | None) -> dict[str, str]:
    """Metadata as the sink has it."""
    return {name.replace("_", "-"): value for name, value in (metadata or {}).items()}


def _code(error: Exception) -> str:
    """Azure's own code of an error, such as BlobAlreadyExists; "" if there is none."""
    code = getattr(error, "error_code", None) or ""
    return str(getattr(code, "value", code))


def _client(options: AzureBlobSinkOptions) -> Any:
    """Azure's client of the container."""
    try:
        from azure.storage.blob import ContainerClient
    except ImportError:
        raise ConnectError(
            "The sink of Azure Blob Storage needs the package azure-storage-blob. Install connect-runtime[azure]."
        ) from None
    # At INFO the client logs every request.
    logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)
    more: dict[str, Any] = {
        "retry_policy": _retry_policy(options),
        "connection_timeout": options.connect_timeout,
        "read_timeout": options.request_timeout,
        "max_single_put_size": _ONE_REQUEST,
        "user_agent": "connect-runtime",
    }
    if proxy := with_user(options.proxy, options.proxy_user, options.proxy_password):
        more["proxies"] = {"http": proxy, "https": proxy}
    if options.connection_string is not None and options.connection_string.reveal():
        try:
            return ContainerClient.from_connection_string(options.connection_string.reveal(), options.container, **more)
        except (ValueError, KeyError):
            raise ConfigError(
                "azblob.connection.string", "is not a connection string. Copy it from the account's access keys."
            ) from None
    address = options.endpoint or f"https://{options.account}.blob.core.windows.net"
    return ContainerClient(address, options.container, credential=_credential(options), **more)


def _retry_policy(options: AzureBlobSinkOptions) -> Any:
    """Azure's policy, with pauses as the keys say: its own have no upper bound, and grow by powers of two seconds."""
    from azure.storage.blob import ExponentialRetry

    class Retry(ExponentialRetry):
        def get_backoff_time(self, settings: dict[str, Any]) -> float:
            if options.retry_type == FIXED:
                return options.backoff
            return backoff(options.backoff, options.longest_backoff, settings["count"])

    return Retry(retry_total=options.retries)


def _credential(options: AzureBlobSinkOptions) -> Any:
    from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential

    if options.account_key is not None and options.account_key.reveal():
        return AzureNamedKeyCredential(options.account, options.account_key.reveal())
    if options.sas_token is not None and options.sas_token.reveal():
        return AzureSasCredential(options.sas_token.reveal())
    if importlib.util.find_spec("azure.identity") is None:
        raise ConnectError(
            "No credentials are given, and azure-identity, which would look for some, is not installed. Set "
            "azblob.account.key, azblob.sas.token or azblob.connection.string, or install connect-runtime[azure]."
        )
    from azure.identity import DefaultAzureCredential

    return DefaultAzureCredential()


def _failure(error: BaseException, tried: str) -> Failure:
    from azure.core import exceptions as core

    name = type(error).__name__
    if isinstance(error, core.HttpResponseError) and error.status_code:
        code, status = _code(error), error.status_code
        kind, passing = (
            _CODES.get(code) or _STATUS.get(status) or ((UNREACHABLE, True) if status >= 500 else (OTHER, False))
        )
        advice = _ADVICE.get(code) or ("Check the rights of these credentials." if kind == REFUSED else "")
        return Failure(kind, passing, f"{tried}: {status} {code or error.reason}.{' ' if advice else ''}{advice}")
    if isinstance(error, core.ClientAuthenticationError):
        # What azure-identity says names every place where it looked.
        return Failure(CREDENTIALS, False, f"{tried}: no credentials were found. Set azblob.account.key, for example.")
    if isinstance(error, core.ServiceRequestTimeoutError | core.ServiceResponseTimeoutError):
        return Failure(TIMEOUT, True, f"{tried}: no response in time ({name}). Check the network.")
    if isinstance(error, core.ServiceRequestError | core.ServiceResponseError | core.IncompleteReadError | OSError):
        return Failure(
            UNREACHABLE, True, f"{tried}: it cannot be reached ({name}). Check azblob.account.name and the network."
        )
    return Failure(OTHER, False, f"{tried}: {name}: {one_line(error)[:300]}")
