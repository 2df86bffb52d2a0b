"""Topics as DataFrames, without a worker: `spark.read.format("connect")` and `spark.readStream.format("connect")`."""
