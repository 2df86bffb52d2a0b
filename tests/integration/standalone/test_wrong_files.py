"""What is wrong is said, all at once and with its place, and nothing is started; what fails later is seen."""

import json

import pytest


@pytest.mark.quick
def test_wrong_keys_of_all_files_are_reported_at_once_with_their_lines(standalone, topic):
    standalone.worker({"offset.flush.interval.ms": "soon", "ofset.flush.timeout.ms": "1"})
    source = standalone.source(topic, batch_size="3k", tasks_max="0")
    config = {"connector.class": "FileStreamSink", "topics": topic, "fsync": "perhaps", "topcs": topic}
    (standalone.folder / "sink.json").write_text(json.dumps({"name": "archive", "config": config}, indent=1))
    (standalone.folder / "broken.json").write_text('{"name": \n oops}')

    ended = standalone.run(source, "sink.json", "broken.json", "absent.properties")

    assert ended.returncode == 2
    told = ended.stderr.splitlines()
    assert told[:3] == [
        (
            'warning: worker.properties:8: key "ofset.flush.timeout.ms": is not known and has no effect.'
            " Did you mean offset.flush.timeout.ms?"
        ),
        'warning: sink.json:7: connector "archive", key "topcs": is not known. Did you mean topics?',
        'worker.properties:5: key "offset.flush.interval.ms": "soon" is not a whole number.',
    ]
    assert told[3:6] == [
        'source.properties:5: connector "source", key "batch.size": "3k" is not a whole number. Write 3000.',
        'source.properties:6: connector "source", key "tasks.max": 0 is too small; the least is 1.',
        'sink.json:6: connector "archive", key "fsync": "perhaps" is not a boolean. Write true or false.',
    ]
    assert told[6].startswith("broken.json:2: this is not JSON")
    assert told[7].startswith("absent.properties: there is no such file")
    assert told[8] == "connect: 6 errors; nothing was started."
    assert not (standalone.folder / "offsets").exists()


def test_a_class_that_is_not_there_is_answered_with_the_ones_that_come_near(standalone, topic):
    (standalone.folder / "in.txt").touch()
    ended = standalone.run(standalone.source(topic, connector_class="FileStreamSorce"))
    assert ended.returncode == 2
    place = 'source.properties:2: connector "source", key "connector.class": '
    assert f'{place}There is no sink or source "FileStreamSorce". Did you mean FileStreamSource' in ended.stderr


def test_a_converter_of_the_worker_that_is_not_there_is_the_worker_s_error_once(standalone, topic):
    standalone.worker({"value.converter": "StringConvertor"})
    ended = standalone.run(standalone.source(topic), standalone.sink(topic, "archive"))
    assert ended.returncode == 2
    assert ended.stderr.count("StringConvertor") == 1
    assert ended.stderr.startswith('worker.properties:3: key "value.converter": There is no converter')


PROVIDER = "org.apache.kafka.common.config.provider."


def test_each_variable_without_a_value_and_each_wrong_provider_is_told_at_once_with_its_line(standalone, topic):
    """None is used as it is written, and nothing else is said of its key."""
    standalone.worker(
        {
            "bootstrap.servers": "${env:NEVER_SET}",
            "config.providers": "env,file,odd",
            "config.providers.env.class": f"{PROVIDER}EnvVarConfigProvider",
            "config.providers.file.class": f"{PROVIDER}FileConfigProvider",
            "config.providers.file.param.allowed.paths": "not/absolute",
            "config.providers.odd.class": "no.such.Provider",
        }
    )
    source = standalone.source(topic, tasks_max="${env:NOT_SET_EITHER}", batch_size="${file:/etc/passwd:root}")
    sink = standalone.sink("${nope:abc}", "archive", consumer_override_group_id="${ENV:HOME}")

    ended = standalone.run(source, sink)

    assert ended.returncode == 2
    told = ended.stderr.splitlines()
    doubt = told.pop(0)
    assert doubt.startswith(
        'warning: worker.properties: key "config.providers.env.param.allowlist.pattern": is not set'
    )
    expected = [
        ('worker.properties:1: key "bootstrap.servers"', "${env:NEVER_SET} has no value: it is not set"),
        ('worker.properties:11: key "config.providers.file.param.allowed.paths"', "not/absolute is not absolute"),
        ('worker.properties:12: key "config.providers.odd.class"', 'there is no config provider "no.such.Provider"'),
        ('source.properties:5: connector "source", key "tasks.max"', "${env:NOT_SET_EITHER} has no value"),
        ('source.properties:6: connector "source", key "batch.size"', "see config.providers.file.param.allowed.paths"),
        ('archive.properties:4: connector "archive", key "topics"', "add to the worker's properties config.providers"),
        ('archive.properties:5: connector "archive", key "consumer.override.group.id"', "did you mean env?"),
    ]
    for line, (place, why) in zip(told, expected, strict=False):
        assert line.startswith(f"{place}: ")
        assert why in line
    assert told[len(expected) :] == [f"connect: {len(expected)} errors; nothing was started."]


@pytest.mark.promise("P8")
@pytest.mark.parametrize(
    ("settings", "key", "says"),
    [
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "absent.pem"},
            "ssl.truststore.location",
            "no certificates can be read from it: No such file or directory",
        ),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"},
            "sasl.mechanism",
            "GSSAPI (Kerberos) is not in the client library that pip installs. Use SCRAM",
        ),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": "x required a=b"},
            "sasl.jaas.config",
            "it does not read: <login module> required <option>=<value>",  # the advice is not a secret
        ),
        (
            {"consumer.plugin.library.paths": "/tmp/library.so"},
            "consumer.plugin.library.paths",
            "it would load a library into our processes, which nobody may; remove it",
        ),
    ],
)
def test_a_login_or_a_store_that_cannot_be_is_told_before_anything_starts(standalone, topic, settings, key, says):
    standalone.worker(settings)
    ended = standalone.run(standalone.source(topic), standalone.sink(topic, "archive"))
    assert ended.returncode == 2
    told, last = ended.stderr.splitlines()
    line = 7 + len(settings)
    assert told.startswith(f'worker.properties:{line}: key "{key}": {says}')
    assert last == "connect: 1 error; nothing was started."


def test_names_that_no_topic_can_have_are_told_before_anything_starts(standalone):
    source = standalone.source("orders and more")
    sink = standalone.sink("good,..", "archive", errors_deadletterqueue_topic_name="dead/letters")
    ended = standalone.run(source, sink)
    assert ended.returncode == 2
    for place, name in (
        ('source.properties:4: connector "source", key "topic"', "orders and more"),
        ('archive.properties:4: connector "archive", key "topics"', ".."),
        ('archive.properties:5: connector "archive", key "errors.deadletterqueue.topic.name"', "dead/letters"),
    ):
        assert f'{place}: "{name}" cannot be the name of a topic' in ended.stderr


def test_two_connectors_of_one_name(standalone, topic):
    first = standalone.source(topic)
    again = standalone.properties("again.properties", {"name": "source", "connector.class": "FileStreamSource"})
    ended = standalone.run(first, again)
    assert ended.returncode == 2
    assert 'again.properties:1: connector "source", key "name": source.properties:1 has this name' in ended.stderr
    assert 'again.properties:1: connector "source", key "topic": is required' in ended.stderr


def test_keys_written_twice_and_client_settings_without_effect_are_warned_about(standalone, topic):
    (standalone.folder / "in.txt").write_text("one\n")
    source = standalone.source(topic, producer_override_linger="5")
    with (standalone.folder / source).open("a") as file:
        file.write("file=in.txt\n")
    running = standalone.start(source)
    running.until_logged("source-0  running")
    assert running.stop() == 0
    assert 'source.properties:6: connector "source", key "file": stands on line 3 too' in running.log
    assert 'source.properties:5: connector "source", key "producer.override.linger"' in running.log


def test_a_missing_folder_for_offsets(standalone, topic):
    standalone.worker({"offset.storage.file.filename": "nowhere/offsets"})
    ended = standalone.run(standalone.source(topic))
    assert ended.returncode == 2
    assert 'worker.properties:4: key "offset.storage.file.filename": ' in ended.stderr
    assert "nowhere does not exist. Create it." in ended.stderr


def test_two_workers_do_not_share_an_offset_file(standalone, topic):
    (standalone.folder / "in.txt").touch()
    source = standalone.source(topic)
    running = standalone.start(source)
    running.until_logged("source-0  running")
    ended = standalone.run(source)
    assert ended.returncode == 2
    assert f"process {running.process.pid} uses this offset file" in ended.stderr
    assert running.stop() == 0


@pytest.mark.quick
@pytest.mark.promise("P9")
def test_a_connector_that_fails_is_seen_and_leaves_the_others_running(standalone, topic):
    (standalone.folder / "in.txt").write_text("one\n")
    failing = standalone.sink(topic, f"{topic}-failing", file="nowhere/out.txt")
    working = standalone.sink(topic, f"{topic}-working")
    running = standalone.start(standalone.source(topic), failing, working)
    running.until_logged(f"ERROR {topic}-failing-0")
    out = standalone.folder / "out.txt"
    running.until(lambda: out.exists() and out.read_text() == "one\n")
    failure = next(line for line in running.log.splitlines() if f"ERROR {topic}-failing-0" in line)
    assert "nowhere" in failure
    assert running.stop() == 0


@pytest.mark.promise("P9")
def test_a_topic_that_is_missing_and_may_not_be_made_is_named(standalone, topic):
    sink = standalone.sink(topic, f"{topic}-sink", consumer_override_allow_auto_create_topics="false")
    running = standalone.start(sink)
    running.until(lambda: any(topic in line and "WARN" in line for line in running.log.splitlines()))
    assert running.stop() == 0


def test_a_sink_makes_its_topic_before_it_subscribes(standalone, topic):
    running = standalone.start(standalone.sink(topic, f"{topic}-sink"), standalone.source(topic))
    (standalone.folder / "in.txt").write_text("one\n")
    out = standalone.folder / "out.txt"
    running.until(lambda: out.exists() and out.read_text() == "one\n")
    assert running.stop() == 0
    assert "Subscribed topic not available" not in running.log


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("absent_extension:add", 2, 'worker.properties:8: key "rest.extension.classes": "absent_extension:add" cannot'),
        ("extension:add", 1, 'key "rest.extension.classes": "extension:add" failed: RuntimeError: no licence'),
    ],
)
def test_no_worker_runs_without_its_extensions(standalone, topic, name, code, words):
    """As in Kafka Connect: it may be what keeps strangers out."""
    (standalone.folder / "extension.py").write_text("def add(app, worker):\n    raise RuntimeError('no licence')\n")
    (standalone.folder / "in.txt").touch()
    standalone.worker({"rest.extension.classes": name})
    ended = standalone.run(standalone.source(topic), path=standalone.folder)
    assert (ended.returncode, words in ended.stderr) == (code, True), ended.stderr
