"""Any sink on Spark: a connector's own sink task, run by Spark's executors for the rows of each micro-batch."""
