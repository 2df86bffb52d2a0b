"""A worker does what its OpenAPI description says, whatever it is asked: schemathesis thinks up the requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from tests.conformance.rest.conversation import Ask
from tests.conformance.rest.parties import party
from tests.conformance.rest.talk import Party
from tests.support import rest
from tests.support.worker_process import our_command

HERE = Path(__file__).parent
CONNECTOR = "tried"
MODES = ["standalone", "distributed"]
METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}


@pytest.fixture(scope="module")
def worker(request: pytest.FixtureRequest, broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Party]:
    """A worker in the mode that is asked for, with one connector."""
    mode = request.param
    folder = tmp_path_factory.mktemp("openapi") / mode
    with party(f"openapi-{mode}", mode, our_command(mode), folder, broker.bootstrap_servers, {}) as worker:
        config = {"connector.class": "FileStreamSource", "file": "{folder}/in.txt", "topic": "{topic}"}
        made = worker.ask(Ask("create", "PUT", f"/connectors/{CONNECTOR}/config", config))
        assert made.status in (201, 200), made  # it is asked again while a group forms
        yield worker


@pytest.fixture(scope="module")
def operations(worker: Party) -> dict[str, dict[str, Any]]:
    """What is described: by path and method."""
    found: dict[str, dict[str, Any]] = worker.ask(Ask("description", "GET", "/openapi.json")).body["paths"]
    return found


@pytest.mark.parametrize(
    ("worker", "phases", "examples"),
    [
        pytest.param("standalone", "fuzzing", 5, id="quick"),
        pytest.param(
            "distributed",
            "coverage,fuzzing,stateful",
            20,
            marks=[pytest.mark.slow, pytest.mark.timeout(900)],
            id="long",
        ),
    ],
    indirect=["worker"],
)
def test_whatever_is_asked_the_answer_is_one_that_is_described(
    phases: str, examples: int, worker: Party, seed: int, tmp_path: Path
) -> None:
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml")]
    command += ["run", f"http://127.0.0.1:{worker.port}/openapi.json", "--phases", phases]
    command += ["--max-examples", str(examples), "--seed", str(seed), "--continue-on-failure", "--no-color"]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "hooks",
        "PYTHONPATH": str(HERE),
        "TRIED_CONNECTOR": CONNECTOR,
        "TRIED_FILE": str(tmp_path / "not-there"),
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"seed {seed}\n{done.stdout}{done.stderr}"


@pytest.mark.quick
@pytest.mark.parametrize("worker", MODES, indirect=True)
def test_every_path_takes_the_methods_that_are_described_and_no_others(
    worker: Party, operations: dict[str, dict[str, Any]]
) -> None:
    for path, described in operations.items():
        allowed = {method.upper() for method in described} | {"OPTIONS"} | ({"HEAD"} if "get" in described else set())
        for method in METHODS - allowed:
            status, headers = send(worker, method, path)
            assert (status, methods_of(headers)) == (405, allowed), f"{method} {path}"
        status, headers = send(worker, "OPTIONS", path)
        assert (status, methods_of(headers)) == (200, allowed), path


@pytest.mark.parametrize("worker", MODES, indirect=True)
def test_every_operation_refuses_what_is_no_json_and_who_takes_none(
    worker: Party, operations: dict[str, dict[str, Any]]
) -> None:
    for path, described in operations.items():
        for method in described:
            what = f"{method} {path}"
            # What no worker signed is refused before anything else is looked at.
            unsigned = "between workers" in described[method].get("tags", [])
            as_text, as_page = (400, 400) if unsigned else (415, 406)
            if "text/plain" in described[method]["responses"].get("200", {}).get("content", {}):
                as_page = 200  # a scraper may accept anything
            assert send(worker, method.upper(), path, "x", {"Content-Type": "text/plain"})[0] == as_text, what
            assert send(worker, method.upper(), path, None, {"Accept": "text/html"})[0] == as_page, what
            if "requestBody" in described[method]:
                assert send(worker, method.upper(), path, "{", {"Content-Type": "application/json"})[0] == 400, what


def send(
    worker: Party, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str]]:
    """Ask for something at a path of the description, of things that do not exist."""
    connection = HTTPConnection("127.0.0.1", worker.port, timeout=30)
    reply = rest.send(connection, method, path.replace("{", "no-").replace("}", ""), body, headers or {})
    if reply.status >= 400 and method != "HEAD":
        assert json.loads(reply.content)["error_code"] == reply.status
    return reply.status, {name.lower(): value for name, value in reply.headers.items()}


def methods_of(headers: dict[str, str]) -> set[str]:
    return set(headers.get("allow", "").replace(" ", "").split(",")) - {""}
