"""The keys of the sink: Confluent's names, meanings and defaults; Aiven's names are accepted as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect import settings
from connect.settings import WithoutEffect
from connectors.objects import connection
from connectors.objects.sink import named_keys
from connectors.objects.sink.keys import ObjectOptions
from connectors.objects.store import Store

_BUCKET: Final = "Bucket"
_ACCESS: Final = "Access"

#: Where Google's JSON API is.
GOOGLE: Final = "https://storage.googleapis.com"


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
        validator=connection.check_address,
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
    proxy = connection.proxy_url("gcs.proxy.url")
    proxy_user = connection.proxy_user("gcs.proxy.user")
    proxy_password = connection.proxy_password("gcs.proxy.password")
    retries = connection.retries("gcs.part.retries")
    backoff = connection.backoff("gcs.retry.backoff.ms", 200, " It doubles each time, with jitter.")
    longest_backoff = connection.longest_backoff("gcs.retry.backoff.max.ms", 20_000)
    connect_timeout = connection.connect_timeout("gcs.connect.timeout.ms", 10_000)
    request_timeout = connection.request_timeout("gcs.request.timeout.ms")
    compression_type = named_keys.compression_type("gcs.compression.type")
    compression_level = named_keys.compression_level("gcs.compression.level")
    part_size = named_keys.part_size("gcs.part.size", Store.smallest_part)
    memory = named_keys.memory("gcs.memory.bytes", "gcs.spill.dir", Store.smallest_part)
    spill_folder = named_keys.spill_folder("gcs.spill.dir", "gcs.part.size")
    threads = named_keys.threads("gcs.upload.threads")

    @staticmethod
    def problems(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Keys that contradict each other: the key at fault, and why. Looks only at keys that are present."""
        content = parsed.get("gcs.credentials.json")
        if content and content.reveal() and parsed.get("gcs.credentials.path"):
            return [("gcs.credentials.json", "contradicts gcs.credentials.path. Remove one of them.")]
        return []
