"""Who we are for a store: what the configuration says, or a class of the user's own whenever a client is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from connect.kit import credentials_provider
from connectors.s3.bucket.keys import BucketOptions


class Credentials(NamedTuple):
    """A key, its secret, and the token of temporary ones."""

    key: str
    secret: str
    token: str | None = None

    def __repr__(self) -> str:
        return f"Credentials(key={self.key!r})"


def credentials(settings: BucketOptions, config: Mapping[str, str]) -> Callable[[], Credentials | None]:
    """What answers with the credentials for a client that is made now; None leaves it to boto3 to find some.

    Args:
        settings: the keys of the bucket.
        config: the configuration, secrets filled in.

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
        core._credentials = None  # so that they are looked for again, now behind the role
    return boto3.Session(botocore_session=core, region_name=settings.region)


def _moment(written: Any) -> Any:
    """A time as stores write it; botocore's own way takes most of the time that a page of names takes."""
    if isinstance(written, str) and written.endswith("Z"):
        try:
            return datetime.fromisoformat(written)
        except ValueError:
            pass  # not every store writes it so
    from botocore.utils import parse_timestamp

    return parse_timestamp(written)


class _Role:
    """A role, as one more place where botocore finds credentials."""

    METHOD = "assume-role"
    CANONICAL_NAME = None

    def __init__(self, settings: BucketOptions, own: Any) -> None:
        self._settings = settings
        self._own = own

    def load(self) -> Any:
        import botocore.session
        from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials

        settings = self._settings
        if self._own is None:
            return None  # then no other place has any either, and botocore says so

        def client(service: str, **more: Any) -> Any:
            more["config"] = None
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
