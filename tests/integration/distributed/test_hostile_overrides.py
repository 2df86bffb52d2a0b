"""Libraries, signals and patterns that a connector's configuration brings: none reaches a worker's process."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from .pool import Pool
from .test_masks import write_as_java

#: What is refused, whatever the client.
LIBRARY, SIGNAL = "plugin.library.paths", "internal.termination.signal"


def opened(pipe: Path) -> bool:
    """Whether somebody reads from a pipe, or waits to: a loader that was handed it would, forever."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def sink(topic: str, folder: Path, **more: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSink", "topics": topic, "file": str(folder / "out"), **more}


def hostile(library: Path) -> dict[str, str]:
    """One of each for each client: SIGKILL, and a file that tells whether it was opened."""
    return {
        f"{client}.override.{key}": value
        for client in ("admin", "consumer", "producer")
        for key, value in ((LIBRARY, str(library)), (SIGNAL, "9"))
    }


@pytest.mark.promise("P6")
def test_what_would_load_code_or_kill_is_refused_and_does_nothing_where_it_stands_already(
    two: Pool, name: str, new_topic: Callable[[], str], tmp_path: Path
) -> None:
    library = tmp_path / "evil.so"
    os.mkfifo(library)
    topic, asked = new_topic(), two.workers[0]
    overrides = hostile(library)
    answer = asked.ask("PUT", f"/connectors/{name}/config", sink(topic, tmp_path, **overrides))
    assert answer.status == 400
    for key in overrides:
        assert answer.body["message"].count(f"Invalid configuration {key}: ") == 1
    assert "it would load a library into our processes, which nobody may; remove it" in answer.body["message"]
    found = asked.do(
        "PUT", "/connector-plugins/FileStreamSink/config/validate", sink(topic, tmp_path, name=name, **overrides)
    )
    assert found["error_count"] == len(overrides)

    # As a worker of Java's would have taken it. A key of a client that the task itself does not make is as bad.
    write_as_java(two, name, sink(topic, tmp_path, **{f"admin.override.{LIBRARY}": str(library)}))
    two.until(lambda: asked.states(name).get("0", ("",))[0] == "FAILED", "the task is FAILED")
    trace = asked.get(f"/connectors/{name}/status")["tasks"][0]["trace"]
    assert f'key "admin.override.{LIBRARY}": it would load a library' in trace

    def has(key: str) -> bool:
        return key in (asked.get(f"/connectors/{name}/config") or {})

    for key, value in overrides.items():
        write_as_java(two, name, sink(topic, tmp_path, **{key: value}))
        two.until(partial(has, key), "it is read")
        for worker in two.workers:
            for path in ("lag", "offsets"):
                said = worker.ask("GET", f"/connectors/{name}/{path}")
                assert said.status >= 400
                assert key in said.body["message"]
    assert not opened(library)
    assert all(worker.alive and worker.ready() for worker in two.workers)
    asked.do("DELETE", f"/connectors/{name}")


@pytest.mark.promise("P6")
def test_a_pattern_that_does_not_end_holds_up_no_worker(
    two: Pool, name: str, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = new_topic(name=f"{'a' * 60}-{name}")
    config = sink("", tmp_path, **{"topics.regex": f"(a+)+b?-{name}!"})
    del config["topics"]
    asked = two.workers[0]
    asked.create(name, config)
    with ThreadPoolExecutor(1) as aside:
        lag = aside.submit(asked.ask, "GET", f"/connectors/{name}/lag")
        answers = 0
        while not lag.done():
            assert asked.ask("GET", "/").status == 200
            answers += 1
        told = lag.result()
    assert told.status >= 400, topic
    assert "topics.regex: matching takes too long" in told.body["message"]
    assert answers > 20  # of the ten seconds that it took none was without answers
    assert asked.alive
    asked.do("DELETE", f"/connectors/{name}")
