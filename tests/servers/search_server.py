"""What Elasticsearch and OpenSearch servers of a test's own have in common: an archive, a configuration, requests."""

import json
import shutil
import urllib.error
import urllib.request
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import psutil

from tests.servers.own_process import not_root, unpacked
from tests.servers.server_process import ServerProcess
from tests.support.java import java_for_server

HOST = "127.0.0.1"
#: Small, and soon up: for tests.
SMALL = "-Xms512m -Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-AlwaysPreTouch"

#: Options of the archives' own: another collector of garbage, its log, a module that not every Java has.
_LEFT_OUT = ("G1", "gc.log", "jdk.incubator")


class SearchServer(ServerProcess):
    """One node with its data in a folder of its own, ready when this returns. Settings are those of its YAML file.

    Raises:
        JarsUnavailable: it cannot be fetched.
        JavaNotFound: there is no Java for it.
    """

    jar_set: ClassVar[str]
    variable: ClassVar[str]  # what its environment variables begin with
    patience = 170  # two of them start at a time on a busy machine
    modules: ClassVar[tuple[str, ...]] = ()  # the only ones that tests need, so that it starts soon; none named: all
    java: ClassVar[tuple[int, int | None]] = (17, None)  # the oldest and the newest that it runs on
    edition: ClassVar[str] = ""  # of the unpacked archive, where `_unpack` changes it
    defaults: ClassVar[dict[str, str]] = {}

    def __init__(self, *, jvm: str = SMALL, **settings: str) -> None:
        self._jvm = jvm
        self._java = java_for_server(*self.java)
        (self._home,) = unpacked(self.jar_set, self._unpack, self.edition).iterdir()
        self.bring_up(
            {
                "discovery.type": "single-node",
                "network.host": HOST,
                "cluster.routing.allocation.disk.threshold_enabled": "false",
                "action.destructive_requires_name": "false",  # so that a test may drop what begins with its name
                **self.defaults,
                **{name.replace("__", "."): value for name, value in settings.items()},
            }
        )

    def start(self, **settings: str) -> None:
        # It attaches to itself, by a file that has its process number: one of another user's JVM stops that.
        for left in Path("/tmp").glob(".java_pid*"):
            if not psutil.pid_exists(int(left.name.removeprefix(".java_pid"))):
                with suppress(OSError):
                    left.unlink()
        super().start(**settings)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{HOST}:{self.port}"

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """One request as anybody may make it; its answer, parsed.

        Raises:
            urllib.error.HTTPError: it says no.
        """
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        asked = urllib.request.Request(
            self.url + path, data, {"Content-Type": "application/json", **headers}, method=method
        )
        with self.open(asked) as answer:
            text = answer.read()
        return json.loads(text) if text[:1] in (b"{", b"[") else text.decode()

    def open(self, request: urllib.request.Request) -> Any:
        """The answer to a request."""
        return urllib.request.urlopen(request, timeout=60)

    def documents(self, index: str, size: int = 10_000, **body: Any) -> dict[str, Any]:
        """The documents of an index by their ids, as they are now. Empty where there is no such index."""
        return {hit["_id"]: hit["_source"] for hit in self.hits(index, size, **body)}

    def hits(self, index: str, size: int = 10_000, **body: Any) -> list[Any]:
        """The same with what stands beside a document: its routing, its version."""
        try:
            self.request("POST", f"/{index}/_refresh")
            found = self.request("POST", f"/{index}/_search", {"size": size, "version": True, **body})
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return []
            raise
        hits: list[Any] = found["hits"]["hits"]
        return hits

    def count(self, index: str) -> int:
        """How many documents an index has now; 0 where there is none."""
        try:
            self.request("POST", f"/{index}/_refresh")
            return int(self.request("GET", f"/{index}/_count")["count"])
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return 0
            raise

    def drop(self, index: str) -> None:
        """Remove indices, by name or pattern."""
        self.request("DELETE", f"/{index}?ignore_unavailable=true&allow_no_indices=true")

    def _unpack(self, archive: zipfile.ZipFile, folder: Path) -> None:
        archive.extractall(folder, [name for name in archive.namelist() if self._is_needed(name.split("/"))])
        for path in folder.rglob("*"):
            # A zip file keeps no rights: everybody may read, and its programs run.
            path.chmod(0o755 if path.is_dir() or "bin" in path.parts[-2:] else 0o644)

    def _is_needed(self, place: list[str]) -> bool:
        return not self.modules or len(place) < 3 or place[1] != "modules" or place[2] in ("", *self.modules)

    def _initialise(self) -> None:
        # What its own scripts write goes to folders of its own; the archive is shared and belongs to somebody else.
        shutil.copytree(self._home / "config", self.folder / "config")
        options = self.folder / "config" / "jvm.options"
        lines = options.read_text().splitlines(keepends=True)
        options.write_text("".join(line for line in lines if not any(word in line for word in _LEFT_OUT)))
        for name in ("data", "logs", "tmp"):
            (self.folder / name).mkdir()
        if as_user := not_root():
            for path in (self.folder, *self.folder.rglob("*")):
                shutil.chown(path, as_user["user"], as_user["group"])

    def _command(self) -> list[str | Path]:
        lines = {
            **self._settings,
            "http.port": str(self.port),
            "path.data": str(self.data),
            "path.logs": str(self.folder / "logs"),
        }
        name = self._home.name.partition("-")[0]
        (self.folder / "config" / f"{name}.yml").write_text("".join(f"{key}: {lines[key]}\n" for key in sorted(lines)))
        environment = {
            f"{self.variable}_PATH_CONF": self.folder / "config",
            f"{self.variable}_JAVA_HOME": self._java.parents[1],
            f"{self.variable}_JAVA_OPTS": self._jvm,
            f"{self.variable}_TMPDIR": self.folder / "tmp",
        }
        return [
            "env",
            *(f"{key}={value}" for key, value in environment.items()),
            self._home / "bin" / name,
        ]

    def _answers(self) -> bool:
        try:
            self.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=30s")
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
        return True
