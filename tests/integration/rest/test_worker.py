"""What a worker does over REST: connectors live, offsets move, a hanging plug-in costs nobody else anything."""

import threading
from pathlib import Path

import pytest

UNRULY = """
import time

from connect import SourceConnector, SourceTask, settings


class QuietTask(SourceTask):
    def start(self, config):
        pass

    def poll(self):
        return None


class Unruly(SourceConnector):
    task = QuietTask
    settings = settings.define(
        settings.String("hang.in", default=""),
        settings.Password("pin", default=None),
    )

    def validate(self, config):
        if config.get("hang.in") == "validate":
            time.sleep(3600)
        if config.get("hang.in") == "crash":
            import os
            os._exit(7)
        return super().validate(config)

    def start(self, config):
        super().start(config)
        if config.get("hang.in") == "start":
            time.sleep(3600)
"""


def source(folder: Path, topic: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSource", "file": str(folder / "in.txt"), "topic": topic}


def sink(folder: Path, topic: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSink", "file": str(folder / "out.txt"), "topics": topic}


def numbered(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


@pytest.mark.quick
def test_lines_flow_through_connectors_made_over_rest(workers, topic: str) -> None:
    worker = workers.start()
    folder = worker.folder
    (folder / "in.txt").write_text(numbered(1, 1000))
    assert worker.ask("PUT", "/connectors/in/config", source(folder, topic))[0] == 201
    assert worker.ask("POST", "/connectors", {"name": f"{topic}-out", "config": sink(folder, topic)})[0] == 201
    out = folder / "out.txt"
    worker.until(lambda: out.exists() and out.read_text() == numbered(1, 1000))
    assert worker.get("/connectors/in/topics") == {"in": {"topics": [topic]}}
    assert worker.stop() == 0


@pytest.mark.quick
def test_a_sink_reads_again_what_its_offsets_say(workers, topic: str) -> None:
    worker = workers.start()
    folder, name = worker.folder, f"{topic}-out"
    (folder / "in.txt").write_text(numbered(1, 10))
    worker.ask("PUT", "/connectors/in/config", source(folder, topic))
    worker.ask("PUT", f"/connectors/{name}/config", sink(folder, topic))
    out = folder / "out.txt"
    worker.until(lambda: out.exists() and out.read_text() == numbered(1, 10))
    place = {"kafka_topic": topic, "kafka_partition": 0}
    entry = {"partition": place, "offset": {"kafka_offset": 10}}
    worker.until(lambda: worker.get(f"/connectors/{name}/offsets") == {"offsets": [entry]})
    assert worker.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": [entry]})[0] == 400
    assert worker.ask("PUT", f"/connectors/{name}/stop")[0] == 204
    earlier = {"offsets": [{"partition": place, "offset": {"kafka_offset": 7}}]}
    said = {"message": "The offsets for this connector have been altered successfully"}
    assert worker.ask("PATCH", f"/connectors/{name}/offsets", earlier) == (200, said)
    assert worker.ask("PUT", f"/connectors/{name}/resume")[0] == 202
    worker.until(lambda: out.read_text() == numbered(1, 10) + numbered(8, 10))
    worker.ask("PUT", f"/connectors/{name}/stop")
    assert worker.ask("DELETE", f"/connectors/{name}/offsets")[0] == 200
    assert worker.get(f"/connectors/{name}/offsets") == {"offsets": []}
    worker.ask("PUT", f"/connectors/{name}/resume")
    worker.until(lambda: out.read_text() == numbered(1, 10) + numbered(8, 10) + numbered(1, 10))


def test_a_source_reads_again_what_its_offsets_say(workers, topic: str) -> None:
    worker = workers.start()
    (worker.folder / "in.txt").write_text(numbered(1, 10))
    worker.ask("PUT", "/connectors/in/config", source(worker.folder, topic))
    worker.until(lambda: bool(worker.get("/connectors/in/offsets")["offsets"]))
    worker.ask("PUT", "/connectors/in/stop")
    assert worker.ask("DELETE", "/connectors/in/offsets")[0] == 200
    assert worker.get("/connectors/in/offsets") == {"offsets": []}
    worker.ask("PUT", "/connectors/in/resume")
    worker.until(lambda: bool(worker.get("/connectors/in/offsets")["offsets"]))


@pytest.mark.promise("P6")
@pytest.mark.parametrize("where", ["validate", "start"])
def test_a_plug_in_that_hangs_keeps_no_other_request_waiting(workers, topic: str, where: str) -> None:
    plugins = workers.folder / "plugins"
    plugins.mkdir()
    (plugins / "unruly.py").write_text(UNRULY)
    worker = workers.start(plugin__path=str(plugins))
    (worker.folder / "in.txt").write_text(numbered(1, 10))
    hanging = {"connector.class": "unruly.Unruly", "hang.in": where}
    for number in range(20):
        path = f"/connectors/hanging-{number % 3}/config"
        threading.Thread(target=_ignoring_its_end, args=(worker, path, hanging), daemon=True).start()
    assert worker.ask("PUT", "/connectors/in/config", source(worker.folder, topic))[0] == 201
    worker.until_state("in", "RUNNING")
    assert worker.ask("PUT", "/connectors/in/pause")[0] == 202
    worker.until_state("in", "PAUSED")
    assert "in" in worker.get("/connectors?expand=status")


def _ignoring_its_end(worker, path: str, config: dict[str, str]) -> None:
    try:
        worker.ask("PUT", path, config)
    except OSError:
        pass


@pytest.mark.promise("P6")
def test_a_plug_in_that_crashes_in_validate_is_an_error_of_its_class(workers) -> None:
    plugins = workers.folder / "plugins"
    plugins.mkdir()
    (plugins / "unruly.py").write_text(UNRULY)
    worker = workers.start(plugin__path=str(plugins))
    config = {"name": "x", "connector.class": "unruly.Unruly", "hang.in": "crash"}
    status, found = worker.ask("PUT", "/connector-plugins/unruly.Unruly/config/validate", config)
    assert (status, found["error_count"]) == (200, 1)
    (at_fault,) = [entry["value"] for entry in found["configs"] if entry["value"]["errors"]]
    assert at_fault["name"] == "connector.class"
    config["hang.in"] = "never"
    status, found = worker.ask("PUT", "/connector-plugins/unruly.Unruly/config/validate", config)
    assert (status, found["error_count"]) == (200, 0)


CHANGING = """
from connect import SinkConnector, SinkTask, settings

class ChangingTask(SinkTask):
    def put(self, batch):
        pass

class Changing(SinkConnector):
    version = "{version}"
    settings = settings.define()

    def task_class(self):
        return ChangingTask
"""


@pytest.mark.promise("P9")
def test_a_task_shows_the_version_that_it_runs(workers, topic: str) -> None:
    plugins = workers.folder / "plugins"
    plugins.mkdir()
    (plugins / "changing.py").write_text(CHANGING.format(version="1.0.0"))
    worker = workers.start(plugin__path=str(plugins))
    config = {"connector.class": "changing.Changing", "topics": topic}
    assert worker.ask("PUT", "/connectors/x/config", config)[0] == 201
    worker.until_state("x", "RUNNING")

    def versions() -> tuple[str, str]:
        status = worker.get("/connectors/x/status")
        return status["connector"]["version"], status["tasks"][0]["version"]

    assert versions() == ("1.0.0", "1.0.0")
    (plugins / "changing.py").write_text(CHANGING.format(version="1.20.0"))
    assert worker.ask("POST", "/connectors/x/tasks/0/restart")[0] == 204
    worker.until(lambda: versions() == ("1.0.0", "1.20.0"))  # the connector's process has what it loaded


@pytest.mark.quick
@pytest.mark.promise("P8")
def test_a_password_is_in_no_answer_and_reaches_the_connector(workers) -> None:
    plugins = workers.folder / "plugins"
    plugins.mkdir()
    (plugins / "unruly.py").write_text(UNRULY)
    worker = workers.start(plugin__path=str(plugins))
    config = {"connector.class": "unruly.Unruly", "pin": "s3cr3t-pin", "some.api.key": "s3cr3t-key"}
    assert worker.ask("PUT", "/connectors/x/config", config)[0] == 201
    worker.until_state("x", "RUNNING")
    paths = ("/connectors/x", "/connectors/x/config", "/connectors/x/tasks", "/connectors?expand=info")
    assert all("s3cr3t" not in str(worker.get(path)) for path in paths)
    shown = worker.get("/connectors/x/config")
    status, changed = worker.ask("PUT", "/connectors/x/config", {**shown, "hang.in": "nowhere"})
    assert status == 200
    assert changed["config"] == {**shown, "hang.in": "nowhere"}
    assert worker.stop() == 0
    assert "s3cr3t" not in worker.log


def test_a_value_of_a_provider_stays_a_variable(workers, topic: str) -> None:
    secrets = workers.folder / "secrets.properties"
    secrets.write_text("name=hidden-name.txt\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    worker = workers.start(config__providers="file", config__providers__file__class=provider)
    variable = f"${{file:{secrets}:name}}"
    worker.ask("PUT", "/connectors/in/config", {**source(worker.folder, topic), "file": variable})
    worker.until_state("in", "RUNNING")
    assert worker.get("/connectors/in/config")["file"] == variable
    assert worker.get("/connectors/in/tasks")[0]["config"]["file"] == variable


@pytest.mark.promise("P8")
def test_a_variable_without_a_value_is_refused_with_its_key_and_shows_nothing_of_others(workers, topic: str) -> None:
    secrets = workers.folder / "secrets.properties"
    secrets.write_text("name=s3cr3t-name\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    worker = workers.start(config__providers="file", config__providers__file__class=provider)
    written = f"/${{file:{secrets}:name}}/${{file:{secrets}:absent}}"
    config = {**source(worker.folder, topic), "file": written, "batch.size": "${nope:1}"}
    status, refused = worker.ask("PUT", "/connectors/in/config", config)
    assert status == 400
    assert 'config provider "file" finds no "absent"' in refused["message"]
    assert 'no config provider "nope" is declared' in refused["message"]
    assert "whole number" not in refused["message"], "it is not taken for a value"
    assert worker.get("/connectors") == []
    path = "/connector-plugins/FileStreamSource/config/validate"
    status, found = worker.ask("PUT", path, {"name": "in", **config})
    values = {each["value"]["name"]: each["value"] for each in found["configs"]}
    assert (status, found["error_count"]) == (200, 2)
    assert values["file"]["value"] == written
    assert len(values["file"]["errors"]) == len(values["batch.size"]["errors"]) == 1
    assert "s3cr3t" not in str((refused, found, worker.log))


@pytest.mark.promise("P8")
def test_what_a_provider_gave_is_nowhere_in_the_answer_to_a_validation(workers, topic: str) -> None:
    secrets = workers.folder / "secrets.properties"
    secrets.write_text("long=S3cretValue\nshort=Qz7\nfile=file\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    worker = workers.start(config__providers="file", config__providers__file__class=provider)
    long, short, file = (f"${{file:{secrets}:{name}}}" for name in ("long", "short", "file"))
    config = source(worker.folder, topic)
    path = "/connector-plugins/FileStreamSource/config/validate"

    def validated(**changes: str) -> dict[str, dict]:
        status, found = worker.ask("PUT", path, {**config, **{k.replace("__", "."): v for k, v in changes.items()}})
        assert status == 200
        assert "S3cret" not in str(found)
        assert "Qz7" not in str(found)
        return {each["value"]["name"]: each["value"] for each in found["configs"]}

    # These would become names of groups and of keys.
    for key in ("transforms", "predicates", "topic__creation__groups"):
        for value in (long, short, f"a,{long}"):
            found = validated(**{key: value})[key.replace("__", ".")]
            assert (found["value"], len(found["errors"])) == (value, 1)
            assert "write them out" in found["errors"][0]
    # These an error speaks of, whole, in part or in other words.
    for value in (long, short, f"a{long}b", f"x,{short}"):
        errors = [validated(**{key: value})[key.replace("__", ".")]["errors"] for key in ("tasks__max", "batch__size")]
        assert "is not a whole number" in str(errors)
    validated(transforms="t", transforms__t__type=short, transforms__t__predicate=long)
    validated(value__converter=long, header__converter=short, producer__override__acks=long)
    # A value that is the name of a setting takes nothing from the form.
    assert validated(topic=file)["file"]["value"] == config["file"]
    for wrong in ({"transforms": long, "tasks.max": long}, {"connector.class": long}, {"connector.class": short}):
        status, refused = worker.ask("PUT", "/connectors/in/config", {**config, **wrong})
        assert status == 400
        assert "S3cret" not in refused["message"]
        assert "Qz7" not in refused["message"]
    assert "S3cret" not in worker.log


def test_the_policy_of_the_worker_refuses_an_override(workers, topic: str) -> None:
    worker = workers.start(connector__client__config__override__policy="None")
    config = {**source(worker.folder, topic), "producer.override.linger.ms": "7"}
    status, body = worker.ask("PUT", "/connectors/in/config", config)
    assert status == 400
    assert "producer.override.linger.ms" in body["message"]


@pytest.mark.quick
def test_a_failed_task_shows_its_trace_and_restarts(workers, topic: str) -> None:
    worker = workers.start()
    config = {**sink(worker.folder, topic), "file": str(worker.folder)}
    worker.ask("PUT", f"/connectors/{topic}/config", config)
    path = f"/connectors/{topic}/status"
    worker.until(lambda: [task["state"] for task in worker.get(path)["tasks"]] == ["FAILED"])
    assert str(worker.folder) in worker.get(path)["tasks"][0]["trace"]
    status, planned = worker.ask("POST", f"/connectors/{topic}/restart?includeTasks=true&onlyFailed=true")
    assert (status, planned["connector"]["state"], planned["tasks"][0]["state"]) == (202, "RUNNING", "RESTARTING")
    worker.until(lambda: [task["state"] for task in worker.get(path)["tasks"]] == ["FAILED"])


def test_validation_offers_the_classes_of_a_chain(workers) -> None:
    worker = workers.start()
    config = {"name": "n", "connector.class": "FileStreamSource", "topic": "t", "transforms": "a", "predicates": "p"}
    status, body = worker.ask("PUT", "/connector-plugins/FileStreamSource/config/validate", config)
    assert status == 200
    offered = {one["value"]["name"]: one["value"]["recommended_values"] for one in body["configs"]}
    assert "org.apache.kafka.connect.transforms.InsertField$Value" in offered["transforms.a.type"]
    assert offered["predicates.p.type"]
    assert not {*offered["predicates.p.type"]} & {*offered["transforms.a.type"]}
