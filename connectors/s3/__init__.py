"""Amazon S3 and every store that speaks its protocol: objects of topics, topics of objects."""
