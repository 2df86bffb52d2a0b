"""librdkafka's mock of a Kafka cluster, in a process of its own: it answers with any error that it is told to.

    python -m tests.servers.mock_cluster 3        3 brokers; prints their addresses

A line `9 16 1` on standard input has the next request of kind 9 (OffsetFetch) answered with error 16, once.
It knows no requests of Kafka 2.4 and later: kafka-python has to be told so (`api_version`).
"""

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka

#: The topic that there is, of one partition.
TOPIC = "t"


class MockCluster:
    """One that runs. `bootstrap_servers` says where."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self._process = process
        self.bootstrap_servers = process.stdout.readline().strip()

    def push(self, api: int, code: int, times: int = 1) -> None:
        """Have the next requests of this kind answered with this error of Kafka's."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{api} {code} {times}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"


@contextmanager
def a_mock_cluster(brokers: int = 1) -> Iterator[MockCluster]:
    """A cluster of so many brokers."""
    command = [sys.executable, "-m", "tests.servers.mock_cluster", str(brokers)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield MockCluster(process)
        finally:
            process.kill()


def _main(brokers: int) -> None:
    (library,) = Path(confluent_kafka.__path__[0] + ".libs").glob("librdkafka-*.so*")
    rdkafka = ctypes.CDLL(str(library))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(rdkafka, name).restype = ctypes.c_void_p
    rdkafka.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    error = ctypes.create_string_buffer(512)
    client = ctypes.c_void_p(rdkafka.rd_kafka_new(0, ctypes.c_void_p(rdkafka.rd_kafka_conf_new()), error, 512))
    cluster = ctypes.c_void_p(rdkafka.rd_kafka_mock_cluster_new(client, brokers))
    rdkafka.rd_kafka_mock_topic_create(cluster, TOPIC.encode(), 1, 1)
    sys.stdout.write(rdkafka.rd_kafka_mock_cluster_bootstraps(cluster).decode() + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        api, code, times = map(int, line.split())
        # It takes the errors as so many arguments.
        rdkafka.rd_kafka_mock_push_request_errors(
            cluster, ctypes.c_int16(api), ctypes.c_size_t(times), *[ctypes.c_int(code)] * times
        )
        sys.stdout.write("done\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main(int(sys.argv[1]))
