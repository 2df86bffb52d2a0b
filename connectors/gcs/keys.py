"""The keys of the sink: Confluent's names, meanings and defaults; Aiven's names are accepted as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from connect import settings
from connect.settings import WithoutEffect
from connectors.objects.sink import keys
from connectors.objects.sink.keys import ObjectOptions

_BUCKET: Final = "Bucket"
_ACCESS: Final = "Access"
_CONNECTION: Final = "Connection"

#: Where Google's JSON API is.
GOOGLE: Final = "https://storage.googleapis.com"
SMALLEST_PART: Final = 5 * keys.MIB


def _url(_: str, value: str) -> None:
    if value and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
        raise ValueError("is not an address. Write http://host:port or https://host.")


class GcsSinkOptions(
    ObjectOptions,
    aliases={
        "gcs.retry.backoff.initial.delay.ms": "gcs.retry.backoff.ms",
        "gcs.retry.backoff.max.delay.ms": "gcs.retry.backoff.max.ms",
    },
    without_effect={
        "storage.class": WithoutEffect(
            "this sink writes to Google Cloud Storage only", unless=("io.confluent.connect.gcs.storage.GcsStorage",)
        ),
        "gcs.retry.backoff.delay.multiplier": "each pause is twice as long as the one before",
        "gcs.retry.backoff.max.attempts": "gcs.part.retries says how often a request is repeated",
        "gcs.retry.backoff.total.timeout.ms": "gcs.part.retries says how often a request is repeated",
        "gcs.user.agent": "the client says its own name",
        "gcs.object.content.encoding": "an object is stored as file.compression.type says",
    },
):
    """The keys as values.

    Attributes:
        endpoint: the address of the API.
        proxy: of all requests, or "".
    """

    bucket = settings.String(
        "gcs.bucket.name",
        importance="HIGH",
        group=_BUCKET,
        validator=settings.non_empty,
        doc="The bucket. It must exist.",
    )
    endpoint = settings.String(
        "gcs.endpoint",
        default="",
        importance="LOW",
        group=_BUCKET,
        width="LONG",
        validator=_url,
        convert=lambda written: (written or GOOGLE).rstrip("/"),
        doc="The address of a server other than Google's that speaks its JSON API: http://host:port.",
    )
    storage_class = settings.String(
        "gcs.storage.class",
        default="",
        importance="LOW",
        group=_BUCKET,
        doc="The storage class of written objects, such as NEARLINE. Default: the bucket's own.",
    )
    credentials_path = settings.String(
        "gcs.credentials.path",
        default="",
        importance="HIGH",
        group=_ACCESS,
        width="LONG",
        doc="A file with credentials as Google writes it, of a service account for example.",
    )
    credentials_json = settings.Password(
        "gcs.credentials.json",
        default=None,
        importance="HIGH",
        group=_ACCESS,
        doc="The content of such a file, in place of gcs.credentials.path.",
    )
    credentials_default = settings.Boolean(
        "gcs.credentials.default",
        default=True,
        importance="LOW",
        group=_ACCESS,
        doc="Without the two keys above: whether to look for Google's application default credentials (the variable "
        "GOOGLE_APPLICATION_CREDENTIALS, gcloud's own, the machine's metadata server). false: requests without any.",
    )
    proxy = settings.String(
        "gcs.proxy.url",
        default="",
        importance="LOW",
        group=_CONNECTION,
        validator=_url,
        doc="An HTTP proxy for all requests: http://host:port. Default: as HTTPS_PROXY and NO_PROXY say.",
    )
    proxy_user = settings.String(
        "gcs.proxy.user", default="", importance="LOW", group=_CONNECTION, doc="The user name at the proxy."
    )
    proxy_password = settings.Password(
        "gcs.proxy.password", default=None, importance="LOW", group=_CONNECTION, doc="The password at the proxy."
    )
    retries = settings.Int(
        "gcs.part.retries",
        default=3,
        group=_CONNECTION,
        validator=settings.at_least(0),
        doc="How often the client repeats a request by itself after a temporary error.",
    )
    backoff = settings.Long(
        "gcs.retry.backoff.ms",
        default=200,
        importance="LOW",
        group=_CONNECTION,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="The first pause after such an error. It doubles each time, with jitter.",
    )
    longest_backoff = settings.Long(
        "gcs.retry.backoff.max.ms",
        default=20_000,
        importance="LOW",
        group=_CONNECTION,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="The longest pause.",
    )
    connect_timeout = settings.Long(
        "gcs.connect.timeout.ms",
        default=10_000,
        importance="LOW",
        group=_CONNECTION,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="How long to wait for a connection.",
    )
    request_timeout = settings.Long(
        "gcs.request.timeout.ms",
        default=60_000,
        importance="LOW",
        group=_CONNECTION,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="How long to wait for a response, or for its next bytes.",
    )
    compression_type = keys.compression_type("gcs.compression.type")
    compression_level = keys.compression_level("gcs.compression.level")
    part_size = keys.part_size("gcs.part.size", SMALLEST_PART)
    memory = keys.memory("gcs.memory.bytes", "gcs.spill.dir", SMALLEST_PART)
    spill_folder = keys.spill_folder("gcs.spill.dir", "gcs.part.size")
    threads = keys.threads("gcs.upload.threads")


def problems(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys that contradict each other: the key at fault, and why. Looks only at keys that are present."""
    content = parsed.get("gcs.credentials.json")
    if content and content.reveal() and parsed.get("gcs.credentials.path"):
        return [("gcs.credentials.json", "contradicts gcs.credentials.path. Remove one of them.")]
    return []
