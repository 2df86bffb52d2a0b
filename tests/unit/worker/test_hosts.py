"""Connectors in host processes of their own: called, failing, hanging and crashing, beside others of their plug-in."""

import logging
import os
import threading
from pathlib import Path

import msgspec
import psutil
import pytest

from connect.pipeline.build import folders_of_chain
from connect.pipeline.error_kinds import ErrorKind
from connect.plugins import PluginKind, PluginRef, Plugins
from connect.worker import hosts, messages
from connect.worker.hosts import ConnectorCallError, ConnectorHosts
from connect.worker.processes import start_server
from tests.support.waiting import until

from .host_run import MISSING, PLUGINS, TRYING, WITHIN_S, Run


def test_connectors_of_one_plugin_share_a_process_that_is_not_ours(run):
    run.start("a")
    run.start("b")
    assert run.pid("a") == run.pid("b") != os.getpid()


VERSIONED = """
from connect import SourceConnector, SourceTask, settings

class Orders(SourceConnector):
    version = "{version}"
    settings = settings.define()
    task = SourceTask

    def task_configs(self, max_tasks):
        return [{{"version": self.version}}]
"""


def versions_of(folder: Path, *versions: str) -> list[PluginRef]:
    """One plug-in in several versions, each in a folder of its own."""
    refs = []
    for version in versions:
        place = folder / f"orders-{version}"
        place.mkdir()
        (place / "orders.py").write_text(VERSIONED.format(version=version))
        refs.append(
            PluginRef(
                name="orders.Orders",
                kind=PluginKind.SOURCE,
                target="orders:Orders",
                folder=str(place),
                version=version,
            )
        )
    return refs


def test_connectors_of_two_versions_of_a_plugin_have_each_its_own(run, tmp_path):
    for number, ref in enumerate(versions_of(tmp_path, "1.0", "2.0")):
        assert run.start(f"c{number}", ref).version == ref.version
        configs = run.hosts.call(ref, f"c{number}", messages.CutTasks(1), WITHIN_S, list[dict[str, str]])
        assert configs == [{"version": ref.version}]


MASK = """
from connect import Transformation

class Mask(Transformation):
    version = "{version}"

    def apply(self, record):
        return record
"""


def test_transformations_of_two_versions_are_validated_each_with_its_own_code(tmp_path):
    folders = [tmp_path / f"mask-{version}" for version in ("1.0", "2.0")]
    for folder, version in zip(folders, ("1.0", "2.0"), strict=True):
        folder.mkdir()
        (folder / "mask.py").write_text(MASK.format(version=version))
    worker = {"key.converter": "StringConverter", "value.converter": "StringConverter"}
    checked = {"connector.class": "trying.TryingConnector", "transforms": "m", "transforms.m.type": "mask.Mask"}
    plugin_path = [PLUGINS, str(tmp_path)]
    hosts = ConnectorHosts(plugin_path, logging.INFO)
    start_server()
    try:
        for version in ("1.0", "2.0", "1.0"):
            config = {**checked, "name": f"c-{version}", "transforms.m.plugin.version": f"[{version}]"}
            used = folders_of_chain(Plugins.discover(plugin_path), worker, config)
            assert used == {str(tmp_path / f"mask-{version}")}
            found = hosts.validate(TRYING, worker, config, [], WITHIN_S, used)
            assert [error for key, error in found.errors() if key.startswith("transforms")] == []
    finally:
        hosts.close()


def test_a_connector_in_a_process_of_its_own_may_go_on_with_another_version(run, tmp_path):
    old, new = versions_of(tmp_path, "1.0", "2.0")
    with pytest.raises(ConnectorCallError):
        run.start("c", start__do="exit")
    for ref in (old, new):
        assert run.start("c", ref).version == ref.version
    configs = run.hosts.call(old, "c", messages.CutTasks(1), WITHIN_S, list[dict[str, str]])
    assert configs == [{"version": "1.0"}]
    run.hosts.forget("c")
    with pytest.raises(ConnectorCallError):  # it runs in no process any more
        run.hosts.call(new, "c", messages.CutTasks(1), WITHIN_S, list[dict[str, str]])


def test_a_connector_is_started_cut_and_stopped(run):
    assert isinstance(run.start("a"), messages.ConnectorStarted)
    configs = run.hosts.call(TRYING, "a", messages.CutTasks(3), WITHIN_S, list[dict[str, str]])
    assert [config["number"] for config in configs] == ["0", "1", "2"]
    run.hosts.call(TRYING, "a", messages.StopConnector(), WITHIN_S, type(None))
    run.hosts.call(TRYING, "a", messages.StopConnector(), WITHIN_S, type(None))  # harmless


def test_task_configurations_that_are_none_are_said(run):
    mapping = msgspec.structs.replace(TRYING, target="trying:MappingConnector")
    run.start("a", mapping)
    with pytest.raises(
        ConnectorCallError, match=r"MappingConnector\.task_configs returns a list with a mapping for each"
    ):
        run.hosts.call(mapping, "a", messages.CutTasks(1), WITHIN_S, list[dict[str, str]])


def test_a_key_of_others_that_does_nothing_is_named_in_the_log_at_each_start(run, caplog):
    run.start("a", pool__max="3", pool__min="1", unknown="x")
    said = 'Connector "a": pool.max has no effect: this one has none.'
    until(lambda: said in caplog.text)
    assert "pool.min" not in caplog.text
    assert "unknown" not in caplog.text
    run.hosts.call(TRYING, "a", messages.StopConnector(), WITHIN_S, type(None))
    run.start("a", pool__max="3")
    until(lambda: caplog.text.count(said) == 2)


@pytest.mark.promise("P8", "P9")
@pytest.mark.parametrize("method", ["start", "task_configs", "stop"])
def test_an_error_comes_back_with_its_trace_and_without_its_secrets(run, method):
    config = {f"{method}__do": "raise", "secret": "hunter22"}
    calls = {
        "start": lambda: None,
        "task_configs": lambda: run.hosts.call(TRYING, "a", messages.CutTasks(1), WITHIN_S, list[dict[str, str]]),
        "stop": lambda: run.hosts.call(TRYING, "a", messages.StopConnector(), WITHIN_S, type(None)),
    }

    def call() -> None:
        run.start("a", **config)
        calls[method]()

    with pytest.raises(ConnectorCallError, match=r"ValueError: cannot log in with \[hidden\]") as error:
        call()
    assert "in _try" in error.value.trace
    assert "hunter22" not in error.value.trace + str(error.value)


@pytest.mark.parametrize("method", ["start", "stop"])
def test_what_a_connector_opened_is_closed_also_where_it_fails(run, tmp_path, method):
    closed = tmp_path / "closed"

    def live() -> None:
        run.start("a", closed=str(closed), **{f"{method}__do": "raise"})
        assert not closed.exists()
        run.hosts.call(TRYING, "a", messages.StopConnector(), WITHIN_S, type(None))

    with pytest.raises(ConnectorCallError, match="cannot log in"):
        live()
    assert closed.exists()


@pytest.mark.promise("P6")
def test_an_error_of_one_connector_leaves_its_process_to_the_others(run):
    run.start("a")
    pid = run.pid("a")
    with pytest.raises(ConnectorCallError):
        run.start("b", start__do="raise")
    with pytest.raises(ConnectorCallError, match="SystemExit"):
        run.start("c", start__do="leave")
    assert run.pid("a") == pid
    assert run.listener.events == []


@pytest.mark.promise("P9")
def test_a_class_that_is_not_there_is_named(run):
    with pytest.raises(ConnectorCallError, match="Missing"):
        run.start("a", MISSING)


def test_what_a_connector_asks_and_says_is_answered(run, caplog):
    with caplog.at_level(logging.INFO, logger="trying"):
        run.start("a", start__do="ask")
        until(lambda: "offset {'position': 7} of a" in caplog.text)
    assert ("reconfigure", "a") in run.listener.events


@pytest.mark.promise("P9")
def test_an_offset_that_cannot_be_read_is_an_error_of_the_call(run):
    run.listener.offset_error = "the offset file is broken"
    with pytest.raises(ConnectorCallError, match="the offset file is broken"):
        run.start("a", start__do="ask")


@pytest.mark.promise("P8", "P9")
def test_a_connector_may_fail_by_itself_and_tells_no_secret(run):
    run.start("a", start__do="fail later", secret="hunter22")
    (event,) = until(lambda: [event for event in run.listener.events if event[0] == "failed"])
    assert event[:3] == ("failed", "a", "ValueError: cannot log in with [hidden]")
    assert "hunter22" not in event[3]


def test_a_connector_that_is_forgotten_shares_again(run):
    run.start("good")
    with pytest.raises(ConnectorCallError):
        run.start("bad", start__do="exit")
    run.start("bad")
    run.start("good")
    run.hosts.forget("bad")
    run.hosts.forget("good")
    run.start("bad")
    run.start("good")
    assert run.pid("bad") == run.pid("good")


def test_calls_from_many_threads_get_their_own_answers(run):
    run.start("a")
    found: dict[int, int] = {}

    def call(count: int) -> None:
        found[count] = len(run.hosts.call(TRYING, "a", messages.CutTasks(count), WITHIN_S, list[dict[str, str]]))

    threads = [threading.Thread(target=call, args=[count]) for count in range(1, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN_S)
    assert found == {count: count for count in range(1, 20)}


@pytest.mark.promise("P6")
def test_values_are_listed_in_a_process_that_ends_with_the_answer_and_no_more_than_wanted(run):
    run.start("a")
    found = run.choices("number")
    assert found.values is not None
    (pid, *numbers), truncated = found.values, found.truncated
    assert numbers == ["0", "1"]
    assert truncated
    assert int(pid) not in {run.pid("a"), os.getpid()}
    until(lambda: not psutil.pid_exists(int(pid)))
    assert run.choices("secret") == messages.Listed(None)


@pytest.mark.promise("P6", "P8")
def test_a_connector_that_cannot_list_values_disturbs_nobody_and_tells_no_secret(run):
    run.start("a")
    pid = run.pid("a")
    with pytest.raises(ConnectorCallError, match=r"^ValueError: cannot log in with \[hidden\]$"):
        run.choices("number", choices__do="raise", secret="hunter22")
    with pytest.raises(ConnectorCallError, match=r"^trying did not answer within 0.3 s\.$") as error:
        run.choices("number", timeout=0.3, choices__do="hang")
    assert error.value.kind is ErrorKind.STALLED
    with pytest.raises(ConnectorCallError, match="exit code 7"):
        run.choices("number", choices__do="exit")
    assert run.pid("a") == pid
    assert run.listener.events == []


@pytest.mark.promise("P11")
def test_whoever_waits_for_values_does_not_hold_up_the_end(run):
    errors: list[Exception] = []

    def ask() -> None:
        try:
            run.choices("number", choices__do="hang")
        except ConnectorCallError as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: any(host.calls for host in run.hosts._hosts.values()))
    run.hosts.close()
    asking.join(WITHIN_S)
    assert "SIGKILL" in str(errors[0])
    with pytest.raises(ConnectorCallError, match="shutting down"):
        run.choices("number")


def processes(run: Run) -> list[int]:
    return [host._child.pid for host in list(run.hosts._hosts.values())]


def test_a_process_in_which_no_connector_runs_ends_some_time_after_the_last_call(run, monkeypatch):
    monkeypatch.setattr(hosts, "IDLE_S", 0.2)
    run.start("a")
    run.start("b")
    pid = run.pid("a")
    run.hosts.call(TRYING, "a", messages.StopConnector(), WITHIN_S, type(None))
    (host,) = run.hosts._hosts.values()
    assert host.idle_until is None  # for b
    run.hosts.call(TRYING, "b", messages.StopConnector(), WITHIN_S, type(None))
    until(lambda: not psutil.pid_exists(pid))
    assert not processes(run)
    run.start("a")
    assert run.pid("a") != pid
    assert not [event for event in run.listener.events if event[0] in {"lost", "failed"}]


def test_it_does_not_end_under_a_call_that_is_about_to_be_made(run):
    config = {"name": "new", "connector.class": "trying.TryingConnector"}
    run.hosts.validate(TRYING, {}, config, [], WITHIN_S)
    (pid,) = processes(run)
    host = run.hosts._host(TRYING, "new")
    run.hosts._end_if_idle(host)  # its time is over just now
    assert host.call("new", messages.Match("a.*", ["abc", "b"]), WITHIN_S) == ["abc"]
    run.hosts._left(host)
    run.hosts._end_if_idle(host)
    until(lambda: not psutil.pid_exists(pid))
