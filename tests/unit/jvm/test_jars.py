"""Sets of jars: what is committed, what is fetched, what is refused."""

import errno
import hashlib
import re
import threading
from pathlib import Path

import pytest

from connect.jvm import fetch, jars
from connect.jvm.jars import JarsUnavailable, read_set, resolve

CONTENT = {"one-1.0.jar": b"the first", "two-2.0-native.jar": b"the second"}


@pytest.fixture(autouse=True)
def demo_set(tmp_path, monkeypatch):
    """A set `demo` of two small jars, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sums = tmp_path / "sums"
    sums.mkdir()
    first, second = (hashlib.sha256(content).hexdigest() for content in CONTENT.values())
    (sums / "demo.txt").write_text(f"# roots: x:one:1.0\n{first}  x:one:1.0\n{second}  x.y:two:2.0:native\n")
    monkeypatch.setattr(jars, "SUMS", sums)


@pytest.fixture
def tools(monkeypatch):
    """Says which tools this machine has; a tool is given by what it brings, or by the error it raises."""

    def use(**brings):
        calls = []

        def tool(name, content):
            def run(wanted, folder, say):
                calls.append((name, [jar.name for jar in wanted]))
                if isinstance(content, Exception):
                    raise content
                for jar in wanted:
                    (folder / jar.name).write_bytes(content[jar.name])

            return fetch.Tool(name, run)

        monkeypatch.setattr(fetch, "available", lambda: [tool(*each) for each in brings.items()])
        return calls

    return use


def quiet(line: str) -> None:
    pass


def test_jars_come_in_the_order_of_the_set_and_stay_in_the_cache(tools):
    calls = tools(jgo=CONTENT)
    paths = resolve("demo", quiet)
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())
    assert resolve("demo", quiet) == paths
    assert len(calls) == 1


def test_a_jar_with_another_sum_is_refused_and_thrown_away(tools, tmp_path):
    tools(jgo={**CONTENT, "two-2.0-native.jar": b"something else"})
    with pytest.raises(JarsUnavailable, match=r"two-2\.0-native\.jar does not have its SHA-256 sum"):
        resolve("demo", quiet)
    assert list(tmp_path.rglob("*.jar")) == []


def test_a_jar_that_was_damaged_in_the_cache_is_fetched_again_alone(tools):
    calls = tools(jgo=CONTENT)
    path = resolve("demo", quiet)[0]
    path.write_bytes(b"rust")
    assert resolve("demo", quiet)[0].read_bytes() == b"the first"
    assert calls[1:] == [("jgo", ["one-1.0.jar"])]


def test_the_next_tool_is_tried_when_one_fails(tools):
    calls = tools(jgo=fetch.FetchError("no connection"), mvn=CONTENT)
    resolve("demo", quiet)
    assert [name for name, _ in calls] == ["jgo", "mvn"]


def test_when_all_tools_fail_each_reason_is_named(tools):
    tools(jgo=fetch.FetchError("no connection"), mvn=fetch.FetchError("unknown host"))
    with pytest.raises(JarsUnavailable) as error:
        resolve("demo", quiet)
    assert "jgo: no connection; mvn: unknown host" in str(error.value)
    assert "Check the network" in str(error.value)


def test_what_a_killed_process_had_fetched_halfway_is_removed_by_the_next(tools, tmp_path):
    halfway = tmp_path / "cache" / "connect-runtime" / "jars" / ".fetch-killed"
    halfway.mkdir(parents=True)
    (halfway / "one-1.0.jar").write_bytes(b"the fi")
    tools(maven=CONTENT)
    assert len(resolve("demo", quiet)) == 2
    assert not halfway.exists()


def test_without_any_tool_the_error_says_what_to_install(tools):
    tools()
    with pytest.raises(JarsUnavailable, match=r"pip install 'connect-runtime\[broker\]'"):
        resolve("demo", quiet)


def test_a_full_disk_is_named(tools):
    tools(jgo=OSError(errno.ENOSPC, "No space left on device", "/somewhere"))
    with pytest.raises(JarsUnavailable, match="cannot be kept in .*/cache/.* disk is full: make room"):
        resolve("demo", quiet)


def test_a_cache_that_cannot_be_made_is_named(tools, tmp_path):
    tools(jgo=CONTENT)
    (tmp_path / "cache").touch()
    with pytest.raises(JarsUnavailable, match="cannot be kept in .*/cache/.* Not a directory"):
        resolve("demo", quiet)


def test_an_unknown_set_lists_the_known_ones():
    with pytest.raises(JarsUnavailable, match=r'no set of jars "demmo"\. Known are: demo'):
        read_set("demmo")


def test_many_at_once_fetch_once(monkeypatch):
    arrived = threading.Barrier(4)
    fetches = []

    def slow(wanted, folder, say):
        fetches.append(1)
        for jar in wanted:
            (folder / jar.name).write_bytes(CONTENT[jar.name])

    monkeypatch.setattr(fetch, "available", lambda: [fetch.Tool("slow", slow)])
    found = []

    def work():
        arrived.wait()
        found.append(resolve("demo", quiet))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fetches) == 1
    assert len(found) == 4


@pytest.mark.parametrize(("name", "root"), [("kafka-broker", "kafka_2.13"), ("kafka-connect", "connect-runtime")])
def test_the_committed_sets_are_closures_with_a_sum_for_each_jar(monkeypatch, name, root):
    monkeypatch.setattr(jars, "SUMS", Path(jars.__file__).parent / "sums")
    listed = read_set(name)
    assert root in {jar.artifact for jar in listed}
    assert len({(jar.group, jar.artifact, jar.classifier) for jar in listed}) == len(listed)
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in listed)
    assert {jar.version for jar in listed if jar.group == "org.apache.kafka"} == {"4.3.1"}
