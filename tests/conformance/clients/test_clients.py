"""Clients that others wrote do with our worker what they do with Apache Kafka Connect's own."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.kafka.broker.embedded import Broker
from tests.conformance.rest.conversation import Ask
from tests.conformance.rest.parties import java_command, party
from tests.conformance.rest.talk import PATIENCE, Party, by_name, differences
from tests.support.java import JavaProgram
from tests.support.worker_process import our_command

from .clients import CLIENTS, ClientUnavailable, Program
from .deliberate import DELIBERATE
from .life import life

#: What even the least of them can do.
CORE = {"list", "create", "put", "config", "status", "tasks", "pause", "resume", "restart", "delete"}
#: What one does in a way that Kafka Connect's worker refuses too: it names a form as the type of what it sends.
REFUSED = {"kafka-connect-client (npm)": {"pause", "resume"}}

CannotHave = Callable[[str, object], NoReturn]
Compile = Callable[..., JavaProgram]


@pytest.fixture(scope="module")
def java(broker: Broker, tmp_path_factory: pytest.TempPathFactory, cannot_have: CannotHave) -> Iterator[Party]:
    folder = tmp_path_factory.mktemp("clients") / "java"
    command = java_command("distributed", cannot_have, loggers=True)
    with party("java", "distributed", command, folder, broker.bootstrap_servers, {}) as worker:
        yield worker


@pytest.fixture(scope="module")
def ours(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Party]:
    folder = tmp_path_factory.mktemp("clients") / "ours"
    with party("ours", "distributed", our_command("distributed"), folder, broker.bootstrap_servers, {}) as worker:
        yield worker


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_leads_a_connector_from_its_creation_to_its_end(
    client: str, ours: Party, tmp_path: Path, java_program: Compile, cannot_have: CannotHave
) -> None:
    did = account(installed(client, java_program, cannot_have), client, ours, tmp_path / "client.log", only=CORE)
    refused = {name: said for name, said in did.items() if "returned" not in said}
    assert did.keys() == CORE
    assert refused.keys() == REFUSED.get(client, set()), refused
    assert all(said["status"] == 415 for said in refused.values())


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_from_our_worker_what_it_gets_from_javas(
    client: str, java: Party, ours: Party, tmp_path: Path, java_program: Compile, cannot_have: CannotHave
) -> None:
    program = installed(client, java_program, cannot_have)
    theirs = account(program, client, java, tmp_path / "java.log")
    mine = account(program, client, ours, tmp_path / "ours.log")
    assert CORE <= mine.keys() == theirs.keys()
    unforeseen = [
        f"{name}: {place}: ours {our_value!r}, Java {their_value!r}"
        for name in theirs
        for place, our_value, their_value in differences(by_name(mine[name]), by_name(theirs[name]))
        if not any(one.covers(name, place, our_value, their_value) for one in DELIBERATE)
    ]
    assert not unforeseen, "\n" + "\n".join(unforeseen)


def installed(client: str, java_program: Compile, cannot_have: CannotHave) -> Program:
    try:
        return CLIENTS[client](java_program)
    except ClientUnavailable as error:
        cannot_have(client, error)


def account(
    program: Program, client: str, worker: Party, log: Path, only: Collection[str] | None = None
) -> dict[str, Any]:
    """What came of each operation that the client knows, in the life of a connector on one worker.

    Args:
        only: these operations, each once, and nothing that is wrong.
    """
    found = {}
    # A name for each account: offsets stay behind when a connector is deleted, and its file would be read no more.
    name = ("src-" if only is None else "core-") + re.sub(r"\W+", "-", client).strip("-")
    with program.driving(f"http://127.0.0.1:{worker.port}", log) as drive, gone(name, worker):
        for do in life(name):
            if only is not None and do.name not in only:
                continue
            said = patiently(drive, json.loads(worker.theirs(json.dumps(do.ask))))
            done = "returned" in said
            if not done and do.otherwise is not None:
                worker.ask(do.otherwise)
            if done or do.otherwise is not None:
                for wait in do.then:
                    worker.wait(wait)
            if "unknown" not in said:
                found[do.name] = json.loads(worker.common(json.dumps(said)))
    return found


@contextmanager
def gone(name: str, worker: Party) -> Iterator[None]:
    """Leave no connector behind for the next client, whatever happens."""
    try:
        yield
    finally:
        worker.ask(Ask("delete", "DELETE", f"/connectors/{name}"))


def patiently(drive: Callable[[Mapping[str, Any]], dict[str, Any]], ask: Mapping[str, Any]) -> dict[str, Any]:
    """Have the client do it, again while the group is busy with itself."""
    deadline = time.monotonic() + PATIENCE
    while True:
        said = drive(ask)
        # Some clients tell the code only, and of a conflict with a connector that exists only that it is one.
        busy = said.get("status") == 409 and ask["do"] != "create" and "raised" in said
        # Java's worker tells some questions, such as for a configuration, of a rebalance with 500.
        busy |= said.get("status") == 500 and "rebalance is expected" in str(said.get("message"))
        if not busy or time.monotonic() > deadline:
            return said
        time.sleep(0.1)
