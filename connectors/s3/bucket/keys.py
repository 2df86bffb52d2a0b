"""The keys that sink and source share: Confluent's names; Aiven's and others' are accepted as well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from connect import ConfigError, settings
from connect.settings import Config, Listed, Secret
from connectors.objects import connection

_BUCKET: Final = "Bucket"
_ACCESS: Final = "Access"
_OBJECTS: Final = "Objects"

#: Java's credentials classes: those that look where boto3's own chain looks, and those without credentials.
_CHAINS: Final = re.compile(
    r"^(com\.amazonaws\.auth|software\.amazon\.awssdk\.auth\.credentials|io\.confluent\.connect\.s3\.auth"
    r"|io\.aiven\.kafka\.connect\.[a-z0-9.]+)\."
)
_ANONYMOUS: Final = ("AnonymousAWSCredentials", "AnonymousCredentialsProvider")
#: Aiven writes regions as Java's constants, Confluent as Amazon's names.
_JAVA_REGION: Final = re.compile(r"^[A-Z]{2}(_[A-Z]+)+_\d$")
_ENCRYPTIONS: Final = ("AES256", "aws:kms", "aws:kms:dsse")
_ACCESS_LISTS: Final = (
    "private",
    "public-read",
    "public-read-write",
    "authenticated-read",
    "aws-exec-read",
    "bucket-owner-read",
    "bucket-owner-full-control",
    "log-delivery-write",
)


def _encryption(_: str, value: str) -> None:
    if value and value not in _ENCRYPTIONS:
        raise ValueError(f'"{value}" is not an encryption method. Write AES256, aws:kms or aws:kms:dsse.')


def _access_list(_: str, value: str) -> None:
    if value and value not in _ACCESS_LISTS:
        raise ValueError(f'"{value}" is not a canned access control list. Write one of {", ".join(_ACCESS_LISTS)}.')


def _customer_key(_: str, value: Secret) -> None:
    if value.reveal() and len(_key_bytes(value.reveal())) != 32:
        raise ValueError("is not a key of 32 bytes. Write its bytes in base64.")


def _key_bytes(text: str) -> bytes:
    import base64
    import binascii

    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode()


def _region(name: str) -> str:
    return name.lower().replace("_", "-") if _JAVA_REGION.match(name) else name


class BucketOptions(
    settings.Options,
    aliases={
        "aws.s3.bucket.name": "s3.bucket.name",
        "aws_s3_bucket": "s3.bucket.name",
        "aws_s3_bucket_name": "s3.bucket.name",
        "aws.s3.endpoint": "store.url",
        "aws_s3_endpoint": "store.url",
        "aws.s3.region": "s3.region",
        "aws_s3_region": "s3.region",
        "aws_access_key_id": "aws.access.key.id",
        "aws_secret_access_key": "aws.secret.access.key",
        "aws.credentials.provider": "s3.credentials.provider.class",
        "s3.credentials.provider.sts.role.arn": "aws.sts.role.arn",
        "s3.credentials.provider.sts.role.session.name": "aws.sts.role.session.name",
        "s3.credentials.provider.sts.role.external.id": "aws.sts.role.external.id",
        "aws.s3.sse.algorithm": "s3.ssea.name",
        "aws.s3.backoff.max.retries": "s3.part.retries",
        "aws.s3.backoff.delay.ms": "s3.retry.backoff.ms",
        "aws.s3.backoff.max.delay.ms": "s3.retry.backoff.max.ms",
    },
    without_effect={"s3.http.send.expect.continue": "botocore decides when to ask a store before sending bytes"},
):
    """The bucket and how to reach it. Credentials stay in the configuration; `credentials` reads them when needed.

    Attributes:
        endpoint: of a store other than Amazon's, or None.
        role: the role to assume, or "".
        role_seconds: how long its credentials are asked for.
        customer_key: 32 bytes, in base64, or None.
        provider: the user's own class that supplies credentials, or "".
        anonymous: whether requests are sent unsigned.
    """

    bucket = settings.String(
        "s3.bucket.name",
        importance="HIGH",
        group=_BUCKET,
        validator=settings.non_empty,
        listed=Listed.BY_CONNECTOR,
        doc="The bucket. It must exist.",
    )
    region = settings.String(
        "s3.region",
        default="us-west-2",
        group=_BUCKET,
        convert=_region,
        doc="The region of the bucket, such as eu-central-1.",
    )
    endpoint = settings.String(
        "store.url",
        default=None,
        importance="HIGH",
        group=_BUCKET,
        width="LONG",
        validator=connection.check_address,
        convert=lambda written: written or None,
        doc="The address of a store other than Amazon's that speaks S3: http://host:port. Default: Amazon's for the "
        "region.",
    )
    path_style = settings.Boolean(
        "s3.path.style.access.enabled",
        default=True,
        importance="LOW",
        group=_BUCKET,
        doc="Whether the bucket is part of the path (https://host/bucket/key) or of the host's name.",
    )
    accelerated = settings.Boolean(
        "s3.wan.mode",
        default=False,
        group=_BUCKET,
        doc="Whether to use Amazon's accelerated addresses. The bucket must allow that; excludes store.url.",
    )
    aws_access_key_id = settings.String(
        "aws.access.key.id",
        default="",
        importance="HIGH",
        group=_ACCESS,
        doc="The access key. If neither this nor the keys below are set, boto3 looks for credentials in the "
        "environment, in ~/.aws and at the machine's metadata service.",
    )
    aws_secret_access_key = settings.Password(
        "aws.secret.access.key",
        default=None,
        importance="HIGH",
        group=_ACCESS,
        doc="The secret of that key. The task asks the config provider again at every start, also after a failure.",
    )
    aws_session_token = settings.Password(
        "aws.session.token",
        default=None,
        importance="LOW",
        group=_ACCESS,
        doc="The token of temporary credentials, beside the two keys above.",
    )
    profile = settings.String(
        "aws.profile",
        default="",
        importance="LOW",
        group=_ACCESS,
        doc="A profile of ~/.aws/config to take credentials from.",
    )
    is_anonymous = settings.Boolean(
        "s3.anonymous",
        default=False,
        importance="LOW",
        group=_ACCESS,
        doc="Whether to send requests unsigned, for public buckets.",
    )
    provider_class = settings.Class(
        "s3.credentials.provider.class",
        default="",
        importance="LOW",
        group=_ACCESS,
        doc="A Python class, as module:Class, with a method credentials() that gives key, secret and token (or None) "
        "whenever new ones are needed; configure(config) receives the keys s3.credentials.provider.*. Java's classes "
        "that look where boto3 looks, and the anonymous one, are accepted too.",
    )
    role = settings.String(
        "aws.sts.role.arn",
        default="",
        group=_ACCESS,
        doc="A role to assume with these credentials. The task renews the role's credentials before they expire.",
    )
    role_session = settings.String(
        "aws.sts.role.session.name",
        default="connect",
        importance="LOW",
        group=_ACCESS,
        doc="The name of the role's session in Amazon's logs.",
    )
    role_seconds = settings.Int(
        "aws.sts.role.session.duration",
        default=3600,
        importance="LOW",
        group=_ACCESS,
        validator=settings.between(900, 43_200),
        doc="For how many seconds to request the credentials of the role.",
    )
    role_external_id = settings.String(
        "aws.sts.role.external.id",
        default="",
        importance="LOW",
        group=_ACCESS,
        doc="The external id that the role's owner requires.",
    )
    role_endpoint = settings.String(
        "aws.sts.config.endpoint",
        default="",
        importance="LOW",
        group=_ACCESS,
        convert=lambda written: written or None,
        doc="The address of the token service (STS). Default: Amazon's for the region.",
    )
    proxy = connection.proxy_url("s3.proxy.url")
    proxy_user = connection.proxy_user("s3.proxy.user")
    proxy_password = connection.proxy_password("s3.proxy.password")
    retries = connection.retries("s3.part.retries")
    backoff = connection.backoff("s3.retry.backoff.ms", 200, " It doubles each time, with jitter.")
    longest_backoff = connection.longest_backoff("s3.retry.backoff.max.ms", 20_000)
    connect_timeout = connection.connect_timeout("s3.connect.timeout.ms", 10_000)
    request_timeout = connection.request_timeout("s3.request.timeout.ms")
    encryption = settings.String(
        "s3.ssea.name",
        default="",
        importance="LOW",
        group=_OBJECTS,
        validator=_encryption,
        doc="How the store encrypts objects: AES256, aws:kms or aws:kms:dsse. Default: the bucket's own setting.",
    )
    customer_key = settings.Password(
        "s3.sse.customer.key",
        default=None,
        importance="LOW",
        group=_OBJECTS,
        validator=_customer_key,
        doc="Your own key to encrypt objects with: 32 bytes, in base64. The store keeps only its hash, "
        "and readers of an object must send the key again.",
    )
    kms_key = settings.String(
        "s3.sse.kms.key.id",
        default="",
        importance="LOW",
        group=_OBJECTS,
        doc="The key in Amazon's KMS for aws:kms. Default: the account's own.",
    )
    access_list = settings.String(
        "s3.acl.canned",
        default=None,
        importance="LOW",
        group=_OBJECTS,
        validator=_access_list,
        doc="The canned access control list of written objects, such as bucket-owner-full-control.",
    )
    storage_class = settings.String(
        "s3.storage.class",
        default="",
        importance="LOW",
        group=_OBJECTS,
        doc="The storage class of written objects, such as STANDARD_IA. Default: STANDARD.",
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.provider = "" if _CHAINS.match(self.provider_class) else self.provider_class
        self.anonymous = self.is_anonymous or self.provider_class.rpartition(".")[2] in _ANONYMOUS

    def check_access(self) -> None:
        """Raise ConfigError if keys contradict each other."""
        for key, why in problems(self.config):
            raise ConfigError(key, why)

    def to_read(self) -> dict[str, Any]:
        """The parameters that the keys add to get_object and head_object, besides Bucket and Key."""
        if self.customer_key is None or not self.customer_key.reveal():
            return {}
        return {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": _key_bytes(self.customer_key.reveal())}

    def to_write(self) -> dict[str, Any]:
        """The parameters that the keys add to put_object and create_multipart_upload."""
        asked: dict[str, Any] = self.to_read()
        if not asked and self.encryption:
            asked["ServerSideEncryption"] = self.encryption
            if self.kms_key:
                asked["SSEKMSKeyId"] = self.kms_key
        if self.access_list:
            asked["ACL"] = self.access_list
        if self.storage_class:
            asked["StorageClass"] = self.storage_class
        return asked

    @property
    def where(self) -> str:
        """The bucket and its address, for messages; without what the address may hold before an @."""
        return f"bucket {self.bucket} {f'(region {self.region})' if self.endpoint is None else f'at {self.store}'}"

    @property
    def store(self) -> str:
        """The address of the store, for messages; without what it may hold before an @."""
        if self.endpoint is None:
            return f"region {self.region}"
        parts = urlsplit(self.endpoint)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}"


def problems(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys that contradict each other: the key at fault, and why. Looks only at keys that are present."""
    found = []
    get = parsed.get
    secret = get("aws.secret.access.key")
    if get("aws.access.key.id") and "aws.secret.access.key" in parsed and not (secret and secret.reveal()):
        found.append(("aws.secret.access.key", "is missing: aws.access.key.id is given."))
    if secret and secret.reveal() and "aws.access.key.id" in parsed and not get("aws.access.key.id"):
        found.append(("aws.access.key.id", "is missing: aws.secret.access.key is given."))
    if get("s3.wan.mode") and get("store.url"):
        found.append(("s3.wan.mode", "works only with Amazon's own addresses. Remove it, or store.url."))
    if get("s3.sse.kms.key.id") and "s3.ssea.name" in parsed and not (get("s3.ssea.name") or "").startswith("aws:kms"):
        found.append(("s3.sse.kms.key.id", "needs s3.ssea.name=aws:kms."))
    provider = get("s3.credentials.provider.class") or ""
    if provider and not _CHAINS.match(provider) and ":" not in provider:
        why = f'"{provider}" cannot be loaded. Write module:Class of a Python class with a method credentials().'
        found.append(("s3.credentials.provider.class", why))
    return found
