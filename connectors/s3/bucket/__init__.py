"""What sink and source share: the keys of a bucket, its client, what its errors mean."""

from connectors.s3.bucket.client import Bucket
from connectors.s3.bucket.keys import ALIASES, BUCKET, WITHOUT_EFFECT, BucketSettings, with_aliases

__all__ = ["ALIASES", "BUCKET", "WITHOUT_EFFECT", "Bucket", "BucketSettings", "with_aliases"]
