"""How records are delivered: what the loops of a worker and the executors of Spark share."""
