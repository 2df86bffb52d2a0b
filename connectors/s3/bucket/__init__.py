"""What sink and source share: the bucket's keys, its client, and the meaning of its errors."""

from connectors.s3.bucket.client import Bucket
from connectors.s3.bucket.keys import BucketOptions

__all__ = ["Bucket", "BucketOptions"]
