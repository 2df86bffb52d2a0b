"""The demo stops at the first error that no restart can fix, in the words of the task that met it."""

import os
import subprocess
import sys

import pytest

from connect.cli import _demo_run, _own_worker
from tests.support.waiting import until


@pytest.fixture
def demo_worker(broker, tmp_path):
    """Runs the demo's own worker with a file source whose configuration a property file of ours completes."""

    def run(connector: str):
        (tmp_path / "worker.properties").write_text(
            f"bootstrap.servers={broker.bootstrap_servers}\n"
            "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
            "value.converter=org.apache.kafka.connect.storage.StringConverter\n"
            f"offset.storage.file.filename=connect.offsets\nplugin.path={tmp_path}\n"
        )
        (tmp_path / "source.properties").write_text(f"name=source\n{connector}\n")
        files = ["worker.properties", "source.properties"]
        return _own_worker.worker(tmp_path, dict(os.environ), tmp_path / "worker.log", files)

    return run


FAILING = """
from connect import {error}, SourceConnector, SourceTask
from tests.support.waiting import until

class FailingTask(SourceTask):
    def start(self, config):
        raise {error}("No module jdk.magic here. Install it.")

    def poll(self):
        return []

class Failing(SourceConnector):
    task = FailingTask
"""


@pytest.mark.quick
def test_it_stops_at_an_error_that_no_restart_mends_and_says_it(demo_worker, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING.format(error="NotInstalledError"))
    with (
        demo_worker("connector.class=Failing") as worker,
        pytest.raises(
            _demo_run.DemoError, match=r"^It cannot go on\. source: .*No module jdk\.magic here\. Install it"
        ),
    ):
        _demo_run.await_(lambda: False, worker, within=120)


def test_it_goes_on_while_a_restart_may_mend_it(demo_worker, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING.format(error="RetriableError"))
    with demo_worker("connector.class=Failing") as worker:
        log, ended = worker.log.read_text, worker.process.poll
        # Once more: it was restarted.
        until(lambda: log().count("No module jdk.magic here") > 1 or ended() is not None, 120, log)
        assert ended() is None
        assert worker.given_up() is None


def test_a_demo_that_needs_another_worker_s_port_takes_a_free_one(demo_worker, tmp_path):
    (tmp_path / "lines.txt").write_text("a\n")
    with demo_worker(f"connector.class=FileStreamSource\nfile={tmp_path / 'lines.txt'}\ntopic=demo-port") as worker:
        command = [sys.executable, "-m", "connect.cli", "status", "--url", worker.url]
        until(lambda: b"RUNNING" in subprocess.run(command, capture_output=True, check=False).stdout)
    assert ":8083" not in worker.url
