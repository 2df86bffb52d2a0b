"""Amazon S3 and every store that speaks its protocol: topics to objects, and objects to topics."""
