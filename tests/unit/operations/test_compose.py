"""The compose file: what it builds, mounts, publishes and runs is there, and its workers and connectors are valid."""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from connect.cli._main import parser_for
from connect.cli._pool_worker import check_pool_worker
from connect.cli._problems import Problems
from connect.cli._worker_files import WorkerFile, read_connectors, read_worker
from connect.herder.listeners import parse_listeners
from connect.plugins import PluginKind, Plugins
from connect.plugins.loading import load
from connect.ports import free_port
from connect.settings.worker_keys import DISTRIBUTED

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "config" / "operations" / "compose"
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
WORKERS = {name: service for name, service in SERVICES.items() if service["image"] == "connect-runtime"}
CONNECTORS = sorted(FOLDER.glob("*.json"))
IN_CONTAINER = "/etc/connect/worker.properties"


def example_variables() -> dict[str, str]:
    lines = (FOLDER / "env.example").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def published() -> Iterator[tuple[str, str, int, int]]:
    """Service, address and port of the machine, port of the container."""
    for name, service in SERVICES.items():
        for written in service.get("ports", []):
            address, outside, inside = written.split(":")
            yield name, address, int(outside), int(inside)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> WorkerFile:
    """The workers' file as a worker reads it in its container, without an error or a warning."""
    for name in example_variables():
        monkeypatch.setenv(name, f"value of {name}")
    problems = Problems([IN_CONTAINER])
    found = read_worker(str(FOLDER / "worker.properties"), problems, DISTRIBUTED)
    assert found is not None
    check_pool_worker(found, problems)
    assert [str(problem) for problem in (*problems.errors(), *problems.warnings())] == []
    return found


def test_the_services_are_those_of_a_pool_with_targets() -> None:
    assert SERVICES.keys() == {"kafka", "worker-1", "worker-2", "postgresql", "s3", "prometheus"}
    assert len(WORKERS) == 2
    used = {mount.partition(":")[0] for service in SERVICES.values() for mount in service.get("volumes", [])}
    assert {name for name in used if not name.startswith(".")} == COMPOSE["volumes"].keys()


def test_the_image_is_built_from_our_dockerfile_with_extras_that_there_are() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for service in WORKERS.values():
        dockerfile = (FOLDER / service["build"]["context"]).resolve() / "Dockerfile"
        assert dockerfile == ROOT / "Dockerfile"
        arguments = service["build"]["args"]
        assert arguments.keys() <= set(re.findall(r"^ARG (\w+)", dockerfile.read_text(encoding="utf-8"), re.MULTILINE))
        assert set(arguments["EXTRAS"].split(",")) <= extras.keys()
        assert {"rest", "jdbc", "s3"} <= set(arguments["EXTRAS"].split(","))


def test_every_file_that_is_mounted_is_there_and_cannot_be_written() -> None:
    mounts = [mount.split(":") for service in SERVICES.values() for mount in service.get("volumes", [])]
    files = [mount for mount in mounts if mount[0].startswith(".")]
    assert len(files) >= 4
    for source, _, *how in files:
        assert (FOLDER / source).is_file()
        assert how == ["ro"]


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_runs_a_command_that_connect_takes(name: str) -> None:
    service = WORKERS[name]
    assert '\nENTRYPOINT ["connect"]\n' in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    args = parser_for(service["command"]).parse_args(service["command"])
    assert args.run.__module__ == "connect.cli.distributed"
    assert args.worker == IN_CONTAINER
    assert f"./worker.properties:{IN_CONTAINER}:ro" in service["volumes"]
    # Others reach a worker by its host name where its file names none: see connect.herder.listeners.advertised.
    assert service["hostname"] == name


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_is_healthy_when_it_is_ready(name: str, worker: WorkerFile) -> None:
    from rest.root import router

    (listener,) = parse_listeners(worker.config["listeners"])
    test = WORKERS[name]["healthcheck"]["test"]
    assert test[:3] == ["CMD", "python", "-c"]
    match = re.search(r'open\("([^"]+)"', test[3])
    assert match is not None
    url = urllib.parse.urlsplit(match[1])
    assert url.port == listener.port
    assert url.path in {getattr(route, "path", "") for route in router.routes}
    assert [inside for service, _, _, inside in published() if service == name] == [listener.port]
    with Answering() as there:
        assert there.runs(test[3].replace(match[1], there.url)) == 0
        there.status = 503
        assert there.runs(test[3].replace(match[1], there.url)) == 1


def test_the_image_is_healthy_while_its_worker_works() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (written,) = re.findall(r"^HEALTHCHECK .*\\\n +CMD (\[.*\])$", text, re.MULTILINE)
    program, option, code = json.loads(written)
    assert (program, option) == ("python", "-c")
    assert "'http://127.0.0.1:8083/health/live'" in code
    with Answering() as there:
        assert there.runs(code, CONNECT_HEALTH_URL=there.url) == 0
        there.status = 500
        assert there.runs(code, CONNECT_HEALTH_URL=there.url) == 1


class Answering:
    """A server with one answer for everybody, on a machine whose proxy is not there."""

    def __init__(self) -> None:
        self.status = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/health"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def runs(self, code: str, **environment: str) -> int:
        """How a health check ends."""
        proxy = f"http://127.0.0.1:{free_port()}"
        known = {"http_proxy": proxy, "HTTP_PROXY": proxy, "no_proxy": "", "NO_PROXY": ""}
        variables = {**os.environ, **known, **environment}
        return subprocess.run([sys.executable, "-c", code], check=False, env=variables, timeout=60).returncode


def test_a_stop_leaves_a_worker_the_time_that_it_takes(worker: WorkerFile) -> None:
    for service in WORKERS.values():
        graceful = worker.config["task.shutdown.graceful.timeout.ms"] / 1000
        assert int(service["stop_grace_period"].removesuffix("s")) >= graceful + 10
        assert service["init"] is True


def test_the_workers_know_the_broker_by_the_address_that_it_tells(worker: WorkerFile) -> None:
    told = SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    by_name = dict(one.split("://") for one in told.split(","))
    assert by_name["PLAINTEXT"] in worker.raw["bootstrap.servers"].split(",")
    assert by_name["PLAINTEXT"].split(":")[0] in SERVICES
    outside = int(by_name["HOST"].split(":")[1])
    assert ("kafka", "127.0.0.1", outside, outside) in set(published())
    listeners = SERVICES["kafka"]["environment"]["KAFKA_LISTENERS"]
    assert re.findall(r"(\w+)://", listeners) == ["PLAINTEXT", "CONTROLLER", "HOST"]


def test_what_a_service_waits_for_has_a_health_check() -> None:
    for service in SERVICES.values():
        assert "test" in service["healthcheck"]
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert other in SERVICES


def test_nothing_is_published_beyond_this_machine_and_no_port_twice() -> None:
    assert {address for _, address, _, _ in published()} == {"127.0.0.1"}
    outside = [port for _, _, port, _ in published()]
    assert len(outside) == len(set(outside))
    for _, _, port, _ in published():
        assert str(port) in PAGE or port == 29092


def test_no_secret_stands_in_a_file(worker: WorkerFile) -> None:
    """They come from a file of variables, whose example has none; without one nothing starts."""
    text = re.sub("#.*", "", (FOLDER / "compose.yaml").read_text(encoding="utf-8"))
    asked = set(re.findall(r"\$\{(\w+):\?[^}]+\}", text))
    assert asked == example_variables().keys()
    assert set(example_variables().values()) == {""}
    assert len(re.findall(r"\$\{", text)) == len(re.findall(r"\$\{\w+:\?", text)), "one has a default, or may be empty"
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET", name):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value)
    # A file of them in this folder comes neither into git nor into an image.
    assert (FOLDER / ".gitignore").read_text(encoding="utf-8").split() == ["/.env"]
    assert "**/.env" in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    # What connectors may read is what they get, and nothing else.
    allowed = re.compile(worker.raw["config.providers.env.param.allowlist.pattern"])
    for service in WORKERS.values():
        assert all(allowed.fullmatch(name) for name in service["environment"])
    assert not allowed.fullmatch("PATH")


@pytest.mark.parametrize("file", CONNECTORS, ids=lambda file: file.stem)
def test_a_connector_is_valid_and_finds_its_target(file: Path, worker: WorkerFile) -> None:
    problems = Problems([str(file)])
    (read,) = read_connectors([str(file)], problems)
    assert problems.errors() == []
    assert read.name == file.stem
    assert file.name in PAGE
    resolved = worker.resolver.resolve(read.config)
    assert list(resolved.unresolved) == []
    config = dict(resolved.values)
    connector = load(Plugins().find((PluginKind.SOURCE, PluginKind.SINK), config["connector.class"]))
    errors = [error for value in connector().validate(config) for error in value.errors]
    assert [error for error in errors if "cannot be reached" not in error] == []
    for key in ("connection.url", "store.url"):
        if key in config:
            url = urllib.parse.urlsplit(config[key].removeprefix("jdbc:"))
            assert url.hostname in SERVICES
            assert url.port == {"postgresql": 5432, "s3": 7070}[url.hostname]
    for key, value in json.loads(file.read_text(encoding="utf-8"))["config"].items():
        if re.search("password|secret", key):
            assert re.fullmatch(r"\$\{env:\w+\}", value)


def test_the_names_in_the_connectors_are_those_of_the_services(worker: WorkerFile) -> None:
    configs = {file.stem: json.loads(file.read_text(encoding="utf-8"))["config"] for file in CONNECTORS}
    database = SERVICES["postgresql"]["environment"]
    rows, objects = configs["orders-to-postgresql"], configs["orders-to-s3"]
    assert rows["connection.url"].endswith(f"/{database['POSTGRES_DB']}")
    assert rows["connection.user"] == database["POSTGRES_USER"]
    start = SERVICES["s3"]["entrypoint"][-1]
    words = shlex.split(start)
    assert f"/data/{objects['s3.bucket.name']}" in words
    assert f":{urllib.parse.urlsplit(objects['store.url']).port}" in words
    assert urllib.parse.urlsplit(SERVICES["s3"]["healthcheck"]["test"][-1]).path in words
    assert objects["aws.access.key.id"] == SERVICES["s3"]["environment"]["ROOT_ACCESS_KEY"]
    # The server is the one that our tests of S3 run against.
    from tests.servers.s3 import VERSITYGW

    assert SERVICES["s3"]["image"].endswith(f":{VERSITYGW}")


def test_the_broker_is_the_one_that_we_test_with() -> None:
    sums = (ROOT / "connect" / "jvm" / "sums" / "kafka-broker.txt").read_text(encoding="utf-8")
    match = re.search(r"org\.apache\.kafka:kafka_2\.13:(\S+)", sums)
    assert match is not None
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{match[1]}"


def test_prometheus_scrapes_every_worker() -> None:
    written = yaml.safe_load((FOLDER.parent / "prometheus" / "scrape.yaml").read_text(encoding="utf-8"))
    (static,) = written["scrape_configs"][0]["static_configs"]
    assert static["targets"] == [f"{name}:8083" for name in WORKERS]
    mounted = {mount.split(":")[1] for mount in SERVICES["prometheus"]["volumes"]}
    assert "--config.file=/etc/prometheus/scrape.yaml" in SERVICES["prometheus"]["command"]
    assert {f"/etc/prometheus/{file}" for file in (*written["rule_files"], "scrape.yaml")} <= mounted
