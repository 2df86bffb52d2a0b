"""Starts an Iceberg REST catalog on this machine: Iceberg's own handlers of requests, in Java, behind a server of ours.

`CatalogHandlers` and the parsers of requests and responses are the parts of iceberg-core of which others build their
servers, too. Tables are in the memory of the process; their metadata as well, data files are where the client writes.
"""

import sys
from pathlib import Path
from typing import Any, Final

import requests

from connect.jvm.jars import classpath
from connect.jvm.java import find_java, home_of
from tests.servers.server_process import ServerProcess

HOST: Final = "127.0.0.1"
CLIENT: Final = "tester"
SECRET: Final = "secret-of-tester"


class IcebergRest(ServerProcess):
    """A REST catalog that wants a login: `CLIENT` and `SECRET`.

    Raises:
        JarsUnavailable: its jars cannot be fetched.
        JavaNotFound: there is no Java 17.
    """

    product = "Iceberg-REST"

    def __init__(self) -> None:
        self._home = home_of(find_java(17))
        self._jars = classpath("iceberg")
        self.bring_up({})

    @property
    def uri(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def warehouse(self) -> str:
        """Where clients write data files."""
        return f"file://{self.data}"

    @property
    def config(self) -> dict[str, str]:
        """The keys by which our connector reaches it, as in Iceberg's documentation."""
        return {
            "iceberg.catalog.type": "rest",
            "iceberg.catalog.uri": self.uri,
            "iceberg.catalog.credential": f"{CLIENT}:{SECRET}",
        }

    def lose_an_answer(self, status: int) -> None:
        """Make the next commit, and answer with this status."""
        requests.post(f"{self.uri}/test/lose", json={"status": status}, timeout=10).raise_for_status()

    def answers(self) -> dict[str, int]:
        """How many requests were answered with each status."""
        told: dict[str, int] = requests.get(f"{self.uri}/test/answers", timeout=10).json()
        return told

    def _initialise(self) -> None:
        self.data.mkdir()

    def _command(self) -> list[str | Path]:
        program = Path(__file__).with_name("iceberg_rest_process.py")
        return [
            sys.executable,
            program,
            str(self.port),
            self._jars,
            str(self._home),
            f"{CLIENT}:{SECRET}",
            self.warehouse,
        ]

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.uri}/v1/config", timeout=2).status_code in {200, 401}
        except requests.RequestException:
            return False

    def _options(self) -> dict[str, Any]:
        return {}  # it writes nothing
