"""A source that reads nothing says once why."""

import logging

import pytest

from tests.unit.connectors.s3.stored import Stored, lines, planner_of, run_of

TEMPLATE = {"file__name__template": "{{topic}}-{{partition}}"}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Stored:
    found = Stored()
    monkeypatch.setattr("connectors.s3.bucket.client._client", lambda *_: found)
    caplog.set_level(logging.INFO, "connectors.s3")
    return found


@pytest.mark.parametrize(
    ("config", "names", "said"),
    [
        ({}, [], "there is no object in it."),
        ({"aws__s3__prefix": "in/"}, ["out/1"], 'there is no object whose name begins with "in/" (aws.s3.prefix).'),
        (
            {"mode": "RESTORE_BACKUP"},
            ["t/partition=0/t+0+0.json"],
            ('there is no object whose name begins with "topics/" (aws.s3.prefix and, with mode=RESTORE_BACKUP, '
            "topics.dir)."),
        ),
        (
            {"native__start__key": "5"},
            ["1", "5"],
            'there is no object whose name comes after "5" (native.start.key).',
        ),
        (
            {"mode": "RESTORE_BACKUP"},
            ["topics/a.json", "topics/t/", "topics/t/b.json", "topics/t/partition=0/t+0+0.keys.avro"],
            ('0 of 4 objects whose name begins with "topics/" (aws.s3.prefix and, with mode=RESTORE_BACKUP, '
            'topics.dir) are to be read: 2 do not end with TOPIC+PARTITION+OFFSET (mode=RESTORE_BACKUP, file.delim) '
            '("topics/a.json"), 1 end with a slash, as folders do ("topics/t/"), 1 hold keys or headers beside an '
            'object ("topics/t/partition=0/t+0+0.keys.avro").'),
        ),
        (
            TEMPLATE,
            ["orders"],
            '0 of 1 objects in it are to be read: 1 do not have the form of file.name.template ("orders").',
        ),
        (
            {"topic": "", "topic__regex__list": "o:in/.*"},
            ["orders"],
            '0 of 1 objects in it are to be read: 1 match no regex of topic.regex.list ("orders").',
        ),
        (
            {"done__action": "move", "done__prefix": "done/"},
            ["done/1"],
            '0 of 1 objects in it are to be read: 1 stand below done.prefix ("done/1").',
        ),
        (
            {"file__discovery__starting__timestamp": "2030-01-01T00:00:00Z"},
            ["1", "2"],
            ("0 of 2 objects in it are to be read: 2 were written before file.discovery.starting.timestamp "
            '("1").'),
        ),
    ],
)  # fmt: skip
def test_what_was_looked_at_and_why_none_is_read(
    stored: Stored, caplog: pytest.LogCaptureFixture, config: dict[str, str], names: list[str], said: str
) -> None:
    for name in names:
        stored.put(name, lines([1]))
    with run_of(**config) as run:
        assert not run.poll()
        assert not run.poll()
    found = [message for message in caplog.messages if message.startswith("Nothing to read")]
    assert found == [f"Nothing to read in bucket b (region us-west-2): {said} The source keeps looking."]


def test_nothing_is_said_where_objects_are_read_or_were_before(
    stored: Stored, caplog: pytest.LogCaptureFixture
) -> None:
    stored.put("1", lines([1]))
    stored.put("folder/", b"")
    with run_of() as run:
        assert len(run.poll() or ()) == 1
        assert not run.poll()
        offsets = run.offsets
    with run_of(offsets) as again:
        assert not again.poll()
    assert not [message for message in caplog.messages if "Nothing to read" in message]


def test_a_planner_says_it_too(stored: Stored, caplog: pytest.LogCaptureFixture) -> None:
    with planner_of() as planner:
        assert planner.carry_out(4) is None
    assert "Nothing to read in bucket b (region us-west-2): there is no object in it." in " ".join(caplog.messages)
