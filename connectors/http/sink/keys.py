"""The keys of the sink: Aiven's, and new ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from connect import settings
from connect.settings import WithoutEffect
from connectors.http.connection import ServerOptions, web_address

_WHAT: Final = "Requests"
_BATCHES: Final = "Batching"
_DELIVERY: Final = "Delivery"

FAIL: Final = "fail"
IGNORE: Final = "ignore"
DELETE: Final = "delete"

PARTITION: Final = "partition"
KEY: Final = "key"
NONE: Final = "none"

#: The places of a URL, as Aiven's fork and as Confluent's sink write them.
PLACE: Final = re.compile(r"\$?\{(topic|partition|offset|key)\}")
_BRACES: Final = re.compile(r"\$?\{[^{}]*\}")


def _url(written: str) -> str:
    url = web_address(written)
    if unknown := next((each for each in _BRACES.findall(url) if not PLACE.fullmatch(each)), None):
        raise ValueError(f"has {unknown} in it. Write {{topic}}, {{partition}}, {{offset}} or {{key}}.")
    if PLACE.search(url.split("/", 3)[2]):
        raise ValueError("has a place in its host. Records decide on the path and the query alone.")
    return url


class SinkOptions(
    ServerOptions,
    without_effect={
        "kafka.retry.backoff.ms": "retry.backoff.ms says when a request is made again",
        "oauth2.token.renew.on.status.codes": WithoutEffect(
            "a token is renewed before it expires, and after 401", unless=("401",)
        ),
    },
):
    """The keys, and what they mean together."""

    url = settings.String(
        "http.url",
        importance="HIGH",
        group=_WHAT,
        width="LONG",
        convert=_url,
        doc="Where records are sent. {topic}, {partition}, {offset} and {key} are replaced by those of the record, "
        "encoded for a URL (added). Records of one request have the same URL.",
    )
    method = settings.String(
        "http.method",
        default="POST",
        group=_WHAT,
        validator=settings.one_of("POST", "PUT", "PATCH", ignore_case=True),
        convert=str.upper,
        doc="POST, PUT or PATCH. Added.",
    )
    nulls = settings.String(
        "behavior.on.null.values",
        default=FAIL,
        group=_WHAT,
        validator=settings.one_of(FAIL, IGNORE, DELETE, ignore_case=True),
        convert=str.lower,
        doc="A record without a value: fail (it goes to the error policy, as it does at Aiven), ignore, or delete (a "
        "DELETE is sent to its URL; 404 and 410 are as good as 2xx then). Added.",
    )
    decimal_format = settings.String(
        "decimal.format",
        default="BASE64",
        importance="LOW",
        group=_WHAT,
        validator=settings.one_of("BASE64", "NUMERIC", ignore_case=True),
        convert=str.upper,
        doc="How decimals are written in JSON: BASE64 or NUMERIC.",
    )
    batching = settings.Boolean(
        "batching.enabled",
        default=False,
        importance="HIGH",
        group=_BATCHES,
        doc="Whether a request has several records.",
    )
    batch_size = settings.Int(
        "batch.max.size",
        default=500,
        group=_BATCHES,
        validator=settings.between(1, 1_000_000),
        doc="The most records of a request.",
    )
    batch_bytes = settings.Long(
        "batch.max.bytes",
        default=8 << 20,
        importance="LOW",
        group=_BATCHES,
        validator=settings.at_least(1),
        doc="The most bytes of a request's body, unless one record alone is longer. Added.",
    )
    prefix = settings.String(
        "batch.prefix", default=None, group=_BATCHES, doc="The text before a batch; empty by default."
    )
    suffix = settings.String(
        "batch.suffix", default=None, group=_BATCHES, doc="The text after a batch; a line feed by default."
    )
    separator = settings.String(
        "batch.separator",
        default=None,
        group=_BATCHES,
        doc="The text between the records of a batch; a line feed by default.",
    )
    order = settings.String(
        "http.order",
        default=PARTITION,
        group=_DELIVERY,
        validator=settings.one_of(PARTITION, KEY, NONE, ignore_case=True),
        convert=str.lower,
        doc="Whose records are sent in their order, one request at a time: those of a partition, or of a key (several "
        "requests of a partition run at a time); none. Added.",
    )
    in_flight = settings.Int(
        "http.max.in.flight",
        default=4,
        group=_DELIVERY,
        validator=settings.between(1, 100),
        doc="How many requests a task sends at a time. Added.",
    )
    buffered_bytes = settings.Long(
        "max.buffered.bytes",
        default=32 << 20,
        importance="LOW",
        group=_DELIVERY,
        validator=settings.at_least(1),
        doc="How many bytes may wait to be sent before consumption pauses. Added.",
    )
    retries = settings.Int(
        "max.retries",
        default=1,
        group=_DELIVERY,
        validator=settings.at_least(-1),
        doc="How often a request is retried after a transient failure: no answer, 408, 425, 429, 500, 502, 503 and "
        "504. Then the task fails. -1: without end (added).",
    )
    backoff = settings.Long(
        "retry.backoff.ms",
        default=3000,
        group=_DELIVERY,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="The pause before each retry, unless the server asks for a longer one (Retry-After).",
    )

    @property
    def url_of_record(self) -> bool:
        """Whether each record has a URL of its own."""
        return any(each in (KEY, "offset") for each in PLACE.findall(self.url))

    @classmethod
    def contradictions(cls, parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        """See `ServerOptions`."""
        found = super().contradictions(parsed)
        deletes = str(parsed.get("behavior.on.null.values", "")).lower() == DELETE
        if deletes and not {KEY, "offset"}.intersection(PLACE.findall(parsed.get("http.url") or "{key}")):
            found.append(("behavior.on.null.values", "delete needs {key} in http.url: else all would be deleted."))
        return found
