"""How records are delivered: what a worker's loops and Spark's executors share."""
