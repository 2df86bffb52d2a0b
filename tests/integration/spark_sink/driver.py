"""A process with a Spark session of its own, for tests that kill it: `python driver.py CONFIG WHAT`.

It prints a line of JSON as soon as Spark works: the process ids of the JVM and of what runs below it.
"""

import json
import sys
import time

from spark_sink.session import open_session
from spark_sink.session.processes import descendants


def busy(batches):  # type: ignore[no-untyped-def]
    """Holds a Python worker in C, where no handler of Python's runs."""
    import ctypes

    for batch in batches:
        ctypes.CDLL(None).sleep(600)
        yield batch


def main(config: dict[str, str], what: str) -> None:
    """Open, say so, and stay."""
    session = open_session(config, "driver")
    spark = session.spark
    if what == "busy":
        import threading

        frame = spark.range(2, numPartitions=2).mapInPandas(busy, "id bigint")
        threading.Thread(target=frame.collect, daemon=True).start()
        # The daemon of Python workers, and the two that it forked.
        while len(descendants(session.pid or 0)) < 3:
            time.sleep(0.05)
        time.sleep(0.5)
    elif what == "stream":
        query = spark.readStream.format("rate").load().writeStream.format("noop").queryName("endless")
        query.option("checkpointLocation", config["checkpoint"]).start()
    elif what == "tells":
        secret = config["connection.password"]

        def tell(batches):  # type: ignore[no-untyped-def]
            sys.stderr.write(f"login with {secret}\n")
            sys.stderr.flush()
            yield from batches

        spark.range(1).mapInPandas(tell, "id bigint").collect()
    else:
        spark.range(1).count()
    workers = [each.pid for each in descendants(session.pid)] if session.pid else []
    sys.stdout.write(json.dumps({"jvm": session.pid, "workers": workers}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    session.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
