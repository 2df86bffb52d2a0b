"""One group of a worker of Apache Kafka Connect and one of ours, in both orders of start."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.group.java_worker import JavaWorker, java_worker

from .pool import Pool, Rest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

JAVA = "org.apache.kafka.connect.file.FileStream"
NAMES = ("a", "b")
MASK = "[hidden]"
LINES = [f"line {number}" for number in range(5)]


def create(rest: Rest, name: str, folder: Path) -> None:
    """A file source and a file sink, by the names of their Java classes."""
    (folder / f"{name}-in").touch()
    topic = f"{folder.name}-{name}"
    rest.create(
        f"{name}-source",
        {"connector.class": f"{JAVA}SourceConnector", "file": str(folder / f"{name}-in"), "topic": topic},
    )
    rest.create(
        f"{name}-sink",
        {"connector.class": f"{JAVA}SinkConnector", "file": str(folder / f"{name}-out"), "topics": topic},
    )


def all_run(*workers: Rest) -> bool:
    """Whether everything runs, says each of these; and at each of them something does."""
    owners = set()
    for worker in workers:
        for name in NAMES:
            for kind in ("source", "sink"):
                states = worker.states(f"{name}-{kind}")
                if set(states) != {"connector", "0"} or any(state != "RUNNING" for state, _ in states.values()):
                    return False
                owners |= {owner for _, owner in states.values()}
    return owners == {worker.id for worker in workers}


def flow(pool: Pool, folder: Path, sent: list[str]) -> None:
    """Lines go through, wherever the four connectors run."""
    sent += [f"{line} of round {len(sent)}" for line in LINES]
    for name in NAMES:
        (folder / f"{name}-in").write_text("".join(f"{line}\n" for line in sent))

    def there() -> bool:
        outs = [folder / f"{name}-out" for name in NAMES]
        return all(out.exists() and set(sent) <= set(out.read_text().splitlines()) for out in outs)

    pool.until(there, f"{sent[-1]} arrives")


def rest_works(pool: Pool, asked: Rest, other: Rest) -> None:
    """All that has to be forwarded, asked of one, seen at the other."""
    name = f"{NAMES[0]}-source"
    asked.do("PUT", f"/connectors/{name}/pause")
    pool.until(lambda: other.runs(name, 1, "PAUSED"), "it is paused")
    asked.do("PUT", f"/connectors/{name}/resume")
    pool.until(lambda: other.runs(name, 1), "it runs")
    config = asked.get(f"/connectors/{name}/config")
    asked.do("PUT", f"/connectors/{name}/config", {**config, "batch.size": "77"})

    def changed() -> bool:
        tasks = other.get(f"/connectors/{name}/tasks")  # nothing while the group is being rebalanced
        return bool(tasks) and tasks[0]["config"].get("batch.size") == "77"

    pool.until(changed, "it is changed")
    pool.until(lambda: other.runs(name, 1), "it runs")
    asked.do("POST", f"/connectors/{name}/restart?includeTasks=true&onlyFailed=false")
    for each in NAMES:
        for kind in ("source", "sink"):
            pool.until(lambda: other.runs(f"{each}-{kind}", 1), "it runs")  # noqa: B023
            asked.do("POST", f"/connectors/{each}-{kind}/restart")
            pool.until(lambda: other.runs(f"{each}-{kind}", 1), "it runs")  # noqa: B023
            asked.do("POST", f"/connectors/{each}-{kind}/tasks/0/restart")
    asked.do("PUT", f"/connectors/{name}/stop")
    pool.until(lambda: other.runs(name, 0, "STOPPED"), "it is stopped")
    pool.until(
        lambda: asked.ask("GET", f"/connectors/{name}/offsets") == other.ask("GET", f"/connectors/{name}/offsets")
    )
    asked.do("PUT", f"/connectors/{name}/resume")
    asked.create("short", {"connector.class": f"{JAVA}SourceConnector", "file": "none", "topic": "none"}, "STOPPED")
    pool.until(lambda: other.runs("short", 0, "STOPPED"), "it is there")
    asked.do("DELETE", "/connectors/short")
    pool.until(lambda: "short" not in (other.get("/connectors") or ["short"]), "it is gone")


def seen_as(java: JavaWorker) -> Rest:
    return Rest(int(java.id.rpartition(":")[2]))


@pytest.mark.parametrize("first", ["java", "python"])
def test_connectors_run_wherever_the_group_puts_them(pool: Pool, tmp_path: Path, first: str) -> None:
    pool.settings |= {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
    sent: list[str] = []
    with ExitStack() as stack:

        def start_java() -> JavaWorker:
            return stack.enter_context(java_worker(pool.bootstrap, pool.name, "sessioned", tmp_path))

        if first == "java":
            java = start_java()
            java.until(lambda: java.get("/connectors") == [] or java.get("/connectors") is True)
            (ours,) = pool.start(1)
        else:
            (ours,) = pool.start(1)
            java = start_java()
            java.until(lambda: java.get("/connectors"))
        theirs = seen_as(java)
        for number, name in enumerate(NAMES):
            create((theirs, ours)[number % 2], name, tmp_path)
        pool.until(lambda: all_run(theirs, ours), "both run something")
        flow(pool, tmp_path, sent)
        rest_works(pool, ours, theirs)
        rest_works(pool, theirs, ours)
        pool.until(lambda: all_run(theirs, ours), "both run something")
        flow(pool, tmp_path, sent)
        # Ours goes and comes back.
        assert ours.stop() == 0
        pool.until(lambda: all_run(theirs), "the Java worker has it all")
        flow(pool, tmp_path, sent)
        ours.start()
        pool.until(ours.ready, "it answers again")
        pool.until(lambda: all_run(theirs, ours), "both run something")
        # The Java worker goes at once.
        java.process.kill()
        pool.until(lambda: all_run(ours), "ours has it all")
        flow(pool, tmp_path, sent)
        rest_works(pool, ours, ours)


@pytest.mark.promise("P8")
@pytest.mark.parametrize("leads", ["java", "python"])
def test_what_ours_masked_and_java_took_is_no_password(pool: Pool, tmp_path: Path, leads: str) -> None:
    """As a script does that reads at one worker, changes something else, and writes at another."""
    pool.settings |= {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
    config = {"connector.class": f"{JAVA}SourceConnector", "file": str(tmp_path / "in"), "topic": tmp_path.name}
    config |= {"db.password": "hunter22"}
    (tmp_path / "in").touch()
    with ExitStack() as stack:
        if leads == "python":
            (ours,) = pool.start(1)
        java = stack.enter_context(java_worker(pool.bootstrap, pool.name, "sessioned", tmp_path))
        java.until(lambda: java.get("/connectors"))
        if leads == "java":
            (ours,) = pool.start(1)
        theirs = seen_as(java)
        ours.create("a", config)
        pool.until(lambda: theirs.runs("a", 1), "it runs")
        read = ours.get("/connectors/a/config")
        assert (read["db.password"], theirs.get("/connectors/a/config")["db.password"]) == (MASK, "hunter22")
        theirs.do("PUT", "/connectors/a/config", {**read, "batch.size": "7"})
        pool.until(lambda: ours.get("/connectors/a/config")["batch.size"] == "7", "it is changed")
        stored = theirs.get("/connectors/a/config")["db.password"]
    if leads == "python":  # what is asked of Java comes to ours, which knows what its masks stand for
        assert stored == "hunter22"
    else:
        assert stored == MASK
        pool.until(lambda: ours.states("a").get("connector") == ("FAILED", ours.id), "ours does not start it")
        assert (
            f'key "db.password": {MASK} stands in place of the secret itself'
            in ours.get("/connectors/a/status")["connector"]["trace"]
        )
        ours.do("PUT", "/connectors/a/config", config)
    pool.until(lambda: ours.runs("a", 1) and {at for _, at in ours.states("a").values()} == {ours.id}, "ours runs it")
