"""Source connectors on Spark: the worker's process plans, executors read, convert and write."""
