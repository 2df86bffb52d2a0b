"""Lists the buckets of an account, for those who fill in a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.settings import Definition
from connectors.objects.store import raised
from connectors.s3.bucket.client import Bucket
from connectors.s3.bucket.failures import failure
from connectors.s3.bucket.keys import BucketOptions

#: Somebody waits for the list. And it needs no name of a bucket, which the client wants.
_SOON: Final = {
    "s3.bucket.name": "any",
    "s3.part.retries": "0",
    "s3.connect.timeout.ms": "5000",
    "s3.request.timeout.ms": "10000",
}


def buckets(definition: Definition, config: Mapping[str, str]) -> list[str]:
    """The names of the buckets that the configuration's credentials may list.

    Only the keys of `BucketOptions` are read.

    Raises:
        ConnectError: the store cannot be reached, or refuses; or a key that leads to it is wrong.
    """
    named = definition.named(config)
    keys = [setting.name for setting in BucketOptions.definition()]
    settings = BucketOptions.parse({**{key: named[key] for key in keys if key in named}, **_SOON})
    bucket = Bucket(settings, config)
    try:
        return [found["Name"] for found in bucket.client.list_buckets().get("Buckets") or ()]
    except Exception as error:  # boto3 and the network below it raise anything
        raise raised(failure(error, settings, "listing buckets", where=settings.store)) from error
    finally:
        bucket.close()
