"""docs/quickstart.md: its files and commands, one after another, in an empty folder. Only the port is another."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from tests.servers.elasticsearch import ElasticsearchServer
from tests.servers.postgresql import PostgresDatabase
from tests.servers.s3 import S3Bucket
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess, our_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PAGE = (Path(__file__).parents[3] / "docs" / "quickstart.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
TITLE = "## Between your own systems"


def commands(text: str) -> list[str]:
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


#: What is between the other chapters, needs servers of the reader's and has a test of its own.
SYSTEMS = re.search(rf"{TITLE}\n.*?(?=\n## )", PAGE, re.DOTALL)
assert SYSTEMS
COMMANDS = commands(PAGE.replace(SYSTEMS[0], ""))
INSTALLATION = 3


class Terminal:
    """Runs commands as a reader of the page does."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        # A Kafka of its own: where the page says embedded, none of another test is meant.
        self.environment = {
            **os.environ,
            "CONNECT_URL": f"http://127.0.0.1:{port}",
            "XDG_DATA_HOME": str(folder / "data"),
            "NO_COLOR": "1",
        }

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        program, *words = shlex.split(command)
        assert program == "connect"
        return subprocess.run(
            [sys.executable, "-m", "connect.cli", *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def says(self, command: str) -> str:
        """What a command prints that succeeds."""
        done = self.run(command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def terminal(broker: Broker, tmp_path: Path) -> Terminal:
    """In a folder with the files of the page. The usual broker is asked for so that its jars and a Java are there."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    port = free_port()
    with (tmp_path / "worker.properties").open("a") as file:
        file.write(f"listeners=http://127.0.0.1:{port}\n")
    return Terminal(tmp_path, port)


@pytest.fixture
def worker(terminal: Terminal) -> Iterator[WorkerProcess]:
    """The page's worker, not started."""
    start = COMMANDS[INSTALLATION]
    assert start == "connect distributed worker.properties"
    command, folder = our_command(*shlex.split(start)[1:]), terminal.folder
    made = WorkerProcess(command, folder / "worker.log", cwd=folder, env=terminal.environment)
    yield made
    made.close()
    terminal.run("connect broker stop")


def test_its_commands_do_what_it_says(terminal: Terminal, worker: WorkerProcess, tmp_path: Path) -> None:
    worker.start().until_answering(terminal.port, "/health/ready", within=180)
    assert COMMANDS[INSTALLATION - 1] == "pip install 'connect-runtime[rest,broker,test]'"
    said: dict[str, str] = {}
    for command in COMMANDS[INSTALLATION + 1 :]:
        if command.startswith("connect status"):
            # What was created runs a moment later.
            until(lambda command=command: "RUNNING" in terminal.says(command), 120, every=0.5)
        if command == "connect delete --yes archive orders":
            until(lambda: (tmp_path / "archive.txt").stat().st_size > 0, 120)
        said[command] = terminal.says(command)
    assert "orderid" in said["connect tap orders --records 1"]
    (tried,) = [output for command, output in said.items() if command.startswith("connect try ")]
    assert "orderunits" in tried
    lines = (tmp_path / "archive.txt").read_text().splitlines()
    assert all(re.fullmatch(r"\{.*orderid.*itemid.*\}", line) for line in lines), lines[:3]
    assert "orders" in said["connect top --once"]
    assert terminal.run("connect broker status").returncode != 0


def test_rows_of_postgresql_come_into_s3_and_elasticsearch(
    terminal: Terminal,
    worker: WorkerProcess,
    postgres_database: PostgresDatabase,
    s3_bucket: S3Bucket,
    elasticsearch: ElasticsearchServer,
    tmp_path: Path,
) -> None:
    """What a reader writes into two files, and keys for S3 in the worker's environment, are all that differs."""
    values = {
        "database": postgres_database.jdbc_url,
        "user": postgres_database.user,
        "bucket": s3_bucket.name,
        "s3": s3_bucket.server.endpoint,
        "elasticsearch": elasticsearch.url,
        "replicas": "1",
    }
    assert values.keys() == {line.split(":")[0] for line in FILES["values.yaml"].splitlines()}
    (tmp_path / "values.yaml").write_text("".join(f"{name}: {value}\n" for name, value in values.items()))
    (tmp_path / "shop.secrets").write_text(f"password={postgres_database.password}\n")
    keys = s3_bucket.config
    terminal.environment |= {
        "AWS_ACCESS_KEY_ID": keys["aws.access.key.id"],
        "AWS_SECRET_ACCESS_KEY": keys["aws.secret.access.key"],
    }
    postgres_database.execute(FILES["shop.sql"])
    elasticsearch.drop("shop-orders")
    worker.start().until_answering(terminal.port, "/health/ready", within=180)

    install, plan, apply, status = commands(SYSTEMS[0])
    assert install.startswith("pip install ")
    assert "3 to create" in terminal.says(plan)
    terminal.says(apply)
    until(lambda: terminal.says(status).count("RUNNING") >= 6, 120, every=0.5)
    until(lambda: _customers(elasticsearch) == {"1": "Ada", "2": "Grace"}, 120, every=0.5)
    postgres_database.execute("update orders set customer = 'Ada L.', updated_at = now() where id = 1")
    until(lambda: _customers(elasticsearch) == {"1": "Ada L.", "2": "Grace"}, 120, every=0.5)
    until(lambda: _archived(s3_bucket) == ["Ada", "Ada L.", "Grace"], 120, every=0.5)


def _customers(server: ElasticsearchServer) -> dict[str, str]:
    return {key: document["customer"] for key, document in server.documents("shop-orders").items()}


def _archived(bucket: S3Bucket) -> list[str]:
    objects = map(bucket.get, bucket.keys())
    lines = [line for content in objects for line in content.decode().splitlines()]
    return sorted(json.loads(line)["customer"] for line in lines)
