"""Connectors through their life on a standalone herder: paused, stopped, restarted, reconfigured, and their secrets."""

import re
import time

import pytest

from connect.herder.errors import HerderError, NotFoundError
from connect.storage import MemoryOffsetStore

NUMBERS = "odd.NumbersConnector"


def numbers(of: int, task: int = 0) -> list[bytes]:
    return [b"%d:%d" % (task, number) for number in range(of)]


@pytest.mark.promise("P1")
def test_a_source_goes_on_where_it_was_after_everything_that_can_be_done_to_it(herd, broker, new_topic, read):
    topic = new_topic()
    run = herd()
    herder = run.herder
    config = {"connector.class": NUMBERS, "topic": topic}
    run.run("numbers", **config, count="50")
    run.await_state("numbers", "RUNNING")
    run.until(lambda: herder.worker.offsets.all("numbers") == [({"numbers": "0"}, {"next": 50})])
    run.run("numbers", **config, count="100")  # another configuration
    run.until(lambda: herder.worker.offsets.all("numbers") == [({"numbers": "0"}, {"next": 100})])
    herder.stop_connector("numbers").result(60)
    run.await_connector("numbers", "STOPPED")
    run.until(lambda: herder.worker.tasks.of("numbers") == {})
    run.run("numbers", **config, count="150")
    herder.resume("numbers").result(60)
    run.await_state("numbers", "RUNNING")
    run.until(lambda: herder.worker.offsets.all("numbers") == [({"numbers": "0"}, {"next": 150})])
    herder.restart_connector("numbers", include_tasks=True).result(60)
    herder.restart_task("numbers", 0).result(60)
    run.await_state("numbers", "RUNNING")
    assert [m.value() for m in read(broker.bootstrap_servers, topic, 150)] == numbers(150)


def test_a_connector_whose_process_dies_while_it_stops_has_stopped(herd, new_topic):
    run = herd()
    run.run("numbers", connector__class=NUMBERS, topic=new_topic(), count="3", die="connector.stop")
    run.await_state("numbers", "RUNNING")
    run.herder.stop_connector("numbers").result(60)
    run.await_connector("numbers", "STOPPED")
    run.herder.resume("numbers").result(60)
    run.await_connector("numbers", "RUNNING")
    run.run("numbers", connector__class=NUMBERS, topic=new_topic(), count="4")  # which ends the one before
    run.until(lambda: run.herder.worker.offsets.all("numbers") == [({"numbers": "0"}, {"next": 4})])
    run.await_connector("numbers", "RUNNING")


def test_a_paused_connector_moves_nothing_until_it_is_resumed(herd, broker, new_topic, write, tmp_path):
    topic, file = new_topic(), tmp_path / "out"
    run = herd()
    run.run("lines", connector__class="FileStreamSink", file=str(file), topics=topic)
    write(broker, topic, [b"a"])
    run.await_lines(file, ["a"])
    run.herder.pause("lines").result(60)
    run.await_state("lines", "PAUSED")
    run.await_connector("lines", "PAUSED")
    write(broker, topic, [b"b"])
    run.until(lambda: run.herder.worker.tasks.of("lines")[0].progress.lag >= 0)
    assert file.read_text() == "a\n"
    run.herder.resume("lines").result(60)
    run.await_state("lines", "RUNNING")
    run.await_lines(file, ["a", "b"])


def test_a_connector_that_was_deleted_leaves_nothing_behind(herd, new_topic):
    run = herd()
    run.run("numbers", connector__class=NUMBERS, topic=new_topic(), count="3")
    run.await_state("numbers", "RUNNING")
    run.until(lambda: run.herder.worker.offsets.all("numbers"))
    run.herder.delete_connector("numbers").result(60)
    assert run.herder.connectors() == []
    assert run.connector("numbers") is None
    assert run.herder.worker.statuses.tasks("numbers") == []
    assert run.herder.worker.offsets.all("numbers")  # as in Kafka Connect
    with pytest.raises(NotFoundError):
        run.herder.pause("numbers").result(60)


def test_tasks_follow_when_the_connector_cuts_its_work_anew(herd, broker, new_topic, read, tmp_path):
    topic, file = new_topic(), tmp_path / "tasks"
    file.write_text("1")
    run = herd()
    run.run(
        "numbers",
        **{"connector.class": NUMBERS, "topic": topic, "count": "5", "tasks.file": str(file), "tasks.max": "4"},
    )
    run.await_state("numbers", "RUNNING")
    file.write_text("3")
    run.await_state("numbers", "RUNNING", 2)
    assert sorted(run.herder.worker.tasks.of("numbers")) == [0, 1, 2]
    found = [m.value() for m in read(broker.bootstrap_servers, topic, 15)]
    assert sorted(found) == sorted(value for task in range(3) for value in numbers(5, task))
    file.write_text("1")
    run.until(lambda: sorted(run.herder.worker.tasks.of("numbers")) == [0])
    run.until(lambda: [status.task for status in run.herder.worker.statuses.tasks("numbers")] == [0])


@pytest.mark.promise("P9")
def test_a_failed_task_leaves_the_others_alone_and_can_be_restarted(herd, strict_broker, new_topic):
    topic = new_topic(on=strict_broker)
    run = herd(on=strict_broker)
    run.run("good", connector__class=NUMBERS, topic=topic, count="5")
    run.run("bad", connector__class="odd.NoTaskConnector", topic=topic)
    run.await_state("bad", "FAILED")
    run.await_state("good", "RUNNING")
    run.herder.restart_task("bad", 0).result(60)
    run.await_state("bad", "FAILED")
    with pytest.raises(NotFoundError, match="bad-1"):
        run.herder.restart_task("bad", 1)
    assert run.state("good") == "RUNNING"


@pytest.mark.promise("P11")
@pytest.mark.parametrize("hang", ["poll", "stop", "connector.stop"])
def test_the_end_waits_for_no_plugin_that_hangs(herd, new_topic, hang, caplog):
    run = herd(task__shutdown__graceful__timeout__ms="500")
    run.run("hanging", connector__class=NUMBERS, topic=new_topic(), hang=hang)
    run.run("good", connector__class=NUMBERS, topic=new_topic(), count="5")
    run.await_state("hanging", "RUNNING")
    run.await_state("good", "RUNNING")
    run.until(lambda: run.herder.worker.offsets.all("good"))
    began = time.monotonic()
    run.stop()
    assert time.monotonic() - began < 30  # a minute and more when somebody waits for the plug-in
    assert "hanging" in caplog.text


# Secrets.


@pytest.fixture
def secret_files(tmp_path):
    file = tmp_path / "secrets.properties"
    file.write_text("password=correct-horse-battery\nof.worker=staple-of-the-worker\n")
    return (
        {
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        },
        f"${{file:{file}:password}}",
        f"${{file:{file}:of.worker}}",
    )


SECRETS = ("correct-horse-battery", "staple-of-the-worker")


@pytest.mark.promise("P8")
@pytest.mark.parametrize(
    ("connector", "leak"),
    [
        *((NUMBERS, leak) for leak in ("connector.start", "task_configs", "task.start", "poll")),
        *(("odd.LeakySinkConnector", leak) for leak in ("sink.start", "put", "flush")),
    ],
)
def test_a_secret_in_an_error_of_a_plugin_is_shown_nowhere(
    herd, broker, new_topic, write, secret_files, connector, leak, caplog
):
    properties, variable, _ = secret_files
    topic = new_topic()
    write(broker, topic, [b"a"])
    run = herd(**properties)
    which = {"topics": topic} if "Sink" in connector else {"topic": topic}
    run.run(
        "leaky",
        **{
            "connector.class": connector,
            "leak": leak,
            "secret": variable,
            "url": f"db://admin:{variable}@host",
            **which,
        },
    )
    if leak in ("connector.start", "task_configs"):
        trace = run.await_connector("leaky", "FAILED")
    else:
        trace = run.await_state("leaky", "FAILED")
    run.stop()
    assert "cannot log in with [hidden]" in trace
    assert "no user" in trace  # the cause is there, without its secret
    for text in (trace, caplog.text, *(str(vars(record)) for record in caplog.records)):
        assert not [secret for secret in SECRETS if secret in text]


@pytest.mark.promise("P8")
@pytest.mark.parametrize("leak", ["connector.start", "sink.start"])
@pytest.mark.parametrize("key", ["word", "secret"])
def test_a_secret_that_stands_in_clear_is_shown_in_no_error(herd, new_topic, key, leak, caplog):
    run = herd()
    config = {"connector.class": "odd.LeakySinkConnector", "leak": leak, "url": "db://host", "topics": new_topic()}
    run.run("leaky", **config, **{key: SECRETS[0]})
    failed = run.await_connector if leak == "connector.start" else run.await_state
    trace = failed("leaky", "FAILED")
    run.stop()
    assert "cannot log in with [hidden]" in trace
    for text in (trace, caplog.text):
        assert SECRETS[0] not in text


@pytest.mark.promise("P8")
def test_a_secret_of_the_worker_is_shown_nowhere(herd, new_topic, secret_files, caplog):
    properties, _, variable = secret_files
    run = herd(**properties, **{"producer.sasl.mechanism": variable, "producer.security.protocol": "SASL_PLAINTEXT"})
    run.run("numbers", connector__class=NUMBERS, topic=new_topic(), count="1")
    trace = run.await_state("numbers", "FAILED")
    run.stop()
    for text in (trace, caplog.text):
        assert "staple-of-the-worker" not in text


@pytest.mark.promise("P8", "P9")
def test_a_task_that_is_restarted_has_the_secret_of_then(herd, new_topic, tmp_path):
    file = tmp_path / "secrets.properties"
    file.write_text("password=the-first-one\n")
    properties = {"config.providers": "file", "config.providers.file.class": "FileConfigProvider"}
    run = herd(**properties)
    variable = f"${{file:{file}:password}}"
    run.run("numbers", **{"connector.class": NUMBERS, "topic": new_topic(), "count": "1", "secret": variable})
    run.await_state("numbers", "RUNNING")

    def told() -> str:
        return run.herder.worker.tasks.of("numbers")[0].process.spec.config["secret"]

    assert told() == "the-first-one"
    file.write_text("password=the-second-one\n")
    run.herder._assigned.reconfigure("numbers")  # nothing is cut in another way, so nothing is disturbed
    run.herder.pause("numbers").result(60)
    run.await_state("numbers", "PAUSED")
    assert told() == "the-first-one"
    run.herder.restart_task("numbers", 0).result(60)
    run.await_state("numbers", "PAUSED")
    assert told() == "the-second-one"
    assert run.herder.task_configs("numbers")[0]["secret"] == variable
    file.unlink()
    with pytest.raises(HerderError, match=re.escape(str(file))):
        run.herder.restart_task("numbers", 0).result(60)
    assert str(file) in run.await_state("numbers", "FAILED")
    assert run.connector("numbers").state.value == "PAUSED"
    file.write_text("password=the-third-one\n")
    run.herder.restart_connector("numbers", include_tasks=True, only_failed=True).result(60)
    run.await_state("numbers", "PAUSED")
    assert told() == "the-third-one"


@pytest.mark.promise("P1", "P10")
def test_a_new_herder_goes_on_with_the_offsets_of_the_last(herd, broker, new_topic, read):
    topic, offsets = new_topic(), MemoryOffsetStore()
    first = herd(offsets=offsets)
    first.run("numbers", connector__class=NUMBERS, topic=topic, count="20")
    first.until(lambda: offsets.all("numbers") == [({"numbers": "0"}, {"next": 20})])
    first.stop()
    second = herd(offsets=offsets)
    second.run("numbers", connector__class=NUMBERS, topic=topic, count="40")
    second.until(lambda: offsets.all("numbers") == [({"numbers": "0"}, {"next": 40})])
    assert [m.value() for m in read(broker.bootstrap_servers, topic, 40)] == numbers(40)
