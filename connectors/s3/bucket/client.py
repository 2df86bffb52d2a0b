"""One bucket: its credentials, boto3's client, which is made at first use, and how long its requests take."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, NamedTuple

from connect import ConnectError
from connect.kit import backoff, credentials_provider
from connectors.objects.connection import with_user
from connectors.objects.store import RequestTimes
from connectors.s3.bucket.keys import BucketOptions

#: The most connections, and so the most requests at a time.
_CONNECTIONS: Final = 16


class Credentials(NamedTuple):
    """A key, its secret, and the token of temporary ones."""

    key: str
    secret: str
    token: str | None = None

    def __repr__(self) -> str:
        return f"Credentials(key={self.key!r})"


def credentials(settings: BucketOptions, config: Mapping[str, str]) -> Callable[[], Credentials | None]:
    """A function that returns the credentials for a new client; None leaves the search to boto3.

    Args:
        settings: the keys of the bucket.
        config: the configuration, with its secrets resolved.

    Raises:
        ConfigError: the class of `s3.credentials.provider.class` cannot be loaded.
    """
    if not settings.provider:
        return lambda: _of_configuration(BucketOptions.definition().named(config))
    chosen = credentials_provider("s3.credentials.provider.class", settings.provider, config)
    return lambda: Credentials(*chosen.credentials())


def session(settings: BucketOptions, found: Credentials | None) -> Any:
    """boto3's session with these credentials, or with those of the role, which it renews before they expire."""
    import boto3
    import botocore.session

    core = botocore.session.Session(profile=settings.profile or None)
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_moment)
    if found is not None:
        core.set_credentials(found.key, found.secret, found.token)
    if settings.role:
        core.get_component("credential_provider").insert_before("env", _Role(settings, core.get_credentials()))
        core._credentials = None  # so that botocore searches again, now with the role first
    return boto3.Session(botocore_session=core, region_name=settings.region)


def _moment(written: Any) -> Any:
    """A time as stores write it. botocore's own parser takes most of the time of a page of names."""
    if isinstance(written, str) and written.endswith("Z"):
        with suppress(ValueError):  # not every store writes it so
            return datetime.fromisoformat(written)
    from botocore.utils import parse_timestamp

    return parse_timestamp(written)


class _Role:
    """A role, as a further place where botocore finds credentials."""

    METHOD = "assume-role"
    CANONICAL_NAME = None

    def __init__(self, settings: BucketOptions, own: Any) -> None:
        self._settings = settings
        self._own = own

    def load(self) -> Any:
        import botocore.session
        from botocore.config import Config
        from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials

        settings = self._settings
        if self._own is None:
            return None  # no other place has any either, and botocore says so

        def client(service: str, **more: Any) -> Any:
            more["config"] = Config(**_through_proxy(settings))
            return botocore.session.Session().create_client(
                service, region_name=settings.region, endpoint_url=settings.role_endpoint, **more
            )

        extra = {"RoleSessionName": settings.role_session, "DurationSeconds": settings.role_seconds}
        if settings.role_external_id:
            extra["ExternalId"] = settings.role_external_id
        fetcher = AssumeRoleCredentialFetcher(client, self._own, settings.role, extra_args=extra)
        return DeferredRefreshableCredentials(method=self.METHOD, refresh_using=fetcher.fetch_credentials)


def _of_configuration(config: Mapping[str, str]) -> Credentials | None:
    key, secret = config.get("aws.access.key.id"), config.get("aws.secret.access.key")
    return Credentials(key, secret, config.get("aws.session.token") or None) if key and secret else None


class Bucket:
    """A bucket and the client that reaches it. All methods are for any thread.

    `request` adds the bucket's name, measures, and lets botocore's errors through; `failure` of
    `connectors.s3.bucket.failures` says what they mean.

    Args:
        settings: the keys.
        config: the configuration, with its secrets resolved; see `credentials`.

    Raises:
        ConnectError: boto3 is not installed.
        ConfigError: the credentials class cannot be loaded.
    """

    def __init__(self, settings: BucketOptions, config: Mapping[str, str]) -> None:
        settings.check_access()
        if importlib.util.find_spec("boto3") is None:
            raise ConnectError("The S3 connectors need the package boto3. Install connect-runtime[s3].")
        # At DEBUG botocore logs every request header, the session token among them.
        logging.getLogger("botocore").setLevel(logging.INFO)
        self.settings = settings
        self.name = settings.bucket
        self._credentials = credentials(settings, config)
        self._lock = threading.Lock()
        self._client: Any = None
        self._used: Credentials | None = None
        self.times = RequestTimes()

    @property
    def client(self) -> Any:
        """boto3's S3 client. botocore retries a request after a temporary failure, `s3.part.retries` times."""
        with self._lock:
            if self._client is None:
                self._used = self._credentials()
                self._client = _client(self.settings, self._used)
            return self._client

    def discard(self) -> bool:
        """Forget the client; the next request makes one with the credentials of that time.

        True: the user's own class supplies other credentials by now, so a refused request is worth another try.
        """
        with self._lock:
            used, self._used, self._client = self._used, None, None
        return self._credentials() != used

    def request(self, operation: str, **parameters: Any) -> Any:
        """Send a request to the bucket by the name of boto3's method, such as ``put_object``; return the response."""
        with self.times.measure(operation):
            return getattr(self.client, operation)(Bucket=self.name, **parameters)

    def pages(self, prefix: str = "", after: str = "") -> Iterator[Mapping[str, Any]]:
        """The objects whose keys begin with a prefix and come after a key, in S3's order (that of their UTF-8 bytes).

        Each as boto3 has it: Key, Size, ETag, LastModified. A request brings at most 1,000, and is sent when needed.
        """
        more: dict[str, Any] = {"StartAfter": after} if after else {}
        while True:
            page = self.request("list_objects_v2", Prefix=prefix, **more)
            yield from page.get("Contents") or ()
            if not page.get("IsTruncated") or not page.get("NextContinuationToken"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def close(self) -> None:
        """Close connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def _client(settings: BucketOptions, found: Credentials | None) -> Any:
    from botocore import UNSIGNED
    from botocore.config import Config

    s3: dict[str, Any] = {"addressing_style": "path" if settings.path_style and not settings.accelerated else "virtual"}
    if settings.accelerated:
        s3["use_accelerate_endpoint"] = True
    more: dict[str, Any] = _through_proxy(settings)
    if settings.anonymous:
        more["signature_version"] = UNSIGNED
    if settings.endpoint:
        # Not every store supports the checksums that Amazon accepts besides those of the signature.
        more["request_checksum_calculation"] = more["response_checksum_validation"] = "when_required"
    config = Config(
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.request_timeout,
        max_pool_connections=_CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": settings.retries + 1},
        user_agent_extra="connect-runtime",
        s3=s3,
        **more,
    )
    client = session(settings, found).client("s3", endpoint_url=settings.endpoint, config=config)
    _set_pauses(client, settings)
    return client


def _through_proxy(settings: BucketOptions) -> dict[str, Any]:
    """What botocore's configuration needs for the proxy, if there is one."""
    if not settings.proxy:
        return {}
    proxy = with_user(settings.proxy, settings.proxy_user, settings.proxy_password)
    return {"proxies": {"http": proxy, "https": proxy}}


class _Pauses:
    """The pauses between a request and its repetitions, as the keys say."""

    def __init__(self, settings: BucketOptions) -> None:
        self._first = settings.backoff
        self._longest = settings.longest_backoff

    def delay_amount(self, context: Any) -> float:
        return backoff(self._first, self._longest, context.attempt_number)


def _set_pauses(client: Any, settings: BucketOptions) -> None:
    """Replace botocore's own pauses, which no setting of its changes."""
    from botocore.retries import standard

    client.meta.events.unregister("needs-retry.s3", unique_id="retry-config-s3")
    handler: Any = standard.register_retry_handler(client, settings.retries + 1)
    policy: Any = getattr(handler, "_retry_policy", None)
    if hasattr(policy, "_retry_backoff"):  # a botocore of a later day may have its own ways
        policy._retry_backoff = _Pauses(settings)
