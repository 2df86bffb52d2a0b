"""What sink and source share: the keys of a bucket, its client, what its errors mean."""

from connectors.s3.bucket.client import Bucket
from connectors.s3.bucket.keys import BucketOptions

__all__ = ["Bucket", "BucketOptions"]
