"""Channels of signals: when one is followed, followed again and forgotten; the file of the channel `file`."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from connect import RetriableError
from connectors.jdbc.changes.channels import Channels, FileChannel, Received


class Fake:
    """A channel with what it is told to have."""

    def __init__(self) -> None:
        self.come: list[str] = []
        self.forgotten: list[int] = []
        self.away = False

    def read(self) -> Sequence[Received]:
        if self.away:
            raise RetriableError("it is away.")
        come, self.come = self.come, []
        return [Received(each, "log", None) for each in come]

    def forget(self, count: int) -> None:
        self.forgotten.append(count)

    def close(self) -> None:
        pass


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def channels(fake: Fake) -> Channels:
    return Channels([fake], 0)


def told(channels: Channels) -> list[str]:
    found: list[str] = []
    channels.follow(lambda identifier, *_: found.append(identifier))
    return found


def test_each_is_told_once(fake: Fake, channels: Channels) -> None:
    fake.come = ["a", "b"]
    assert told(channels) == ["a", "b"]
    channels.settled(handed_out=False)
    fake.come = ["c"]
    assert told(channels) == ["c"]


def test_what_a_failed_poll_was_told_is_told_to_the_next(fake: Fake, channels: Channels) -> None:
    fake.come = ["a"]
    assert told(channels) == ["a"]
    fake.come = ["b"]
    assert told(channels) == ["a", "b"]
    channels.settled(handed_out=False)
    assert told(channels) == []


def test_one_is_forgotten_when_what_came_after_it_is_stored(fake: Fake, channels: Channels) -> None:
    fake.come = ["a"]
    told(channels)
    channels.settled(handed_out=False)
    channels.stored()
    assert fake.forgotten == [], "no offset tells of it"
    fake.come = ["b"]
    told(channels)
    channels.settled(handed_out=True)
    fake.come = ["c"]
    told(channels)
    channels.settled(handed_out=False)
    channels.stored()
    assert fake.forgotten == [2], "c came behind what is stored"
    channels.settled(handed_out=True)
    channels.stored()
    channels.stored()
    assert fake.forgotten == [2, 1]


def test_one_that_is_away_is_said_once(fake: Fake, channels: Channels, caplog: pytest.LogCaptureFixture) -> None:
    fake.away = True
    assert told(channels) == told(channels) == []
    assert caplog.text.count("Signals are not followed for now: it is away.") == 1
    fake.away, fake.come = False, ["a"]
    assert told(channels) == ["a"]


def test_they_are_read_at_intervals(fake: Fake) -> None:
    channels = Channels([fake], 3600)
    fake.come = ["a"]
    assert told(channels) == ["a"]
    channels.settled(handed_out=False)
    fake.come = ["b"]
    assert told(channels) == []


LOG = '{"id": "%s", "type": "log"}\n'


def test_lines_of_a_file_are_read_and_removed_when_they_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    channel = FileChannel(path)
    assert channel.read() == []
    path.write_text(LOG % "a" + "\n" + LOG % "b" + '{"id": "c"')
    assert [each.identifier for each in channel.read()] == ["a", "b"]
    with path.open("a") as file:
        file.write(', "type": "log", "data": {"message": "m"}}\n')
    [last] = channel.read()
    assert last == Received("c", "log", '{"message": "m"}')
    channel.forget(1)
    assert path.read_text().startswith("\n" + LOG % "b")
    assert channel.read() == []
    channel.forget(2)
    assert path.read_text() == ""
    path.write_text(LOG % "d")
    assert [each.identifier for each in channel.read()] == ["d"]


def test_another_file_of_that_name_is_read_whole_and_keeps_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    channel = FileChannel(path)
    path.write_text(LOG % "a" + LOG % "b")
    assert len(channel.read()) == 2
    path.write_text(LOG % "other")
    channel.forget(1)
    assert path.read_text() == LOG % "other"
    assert [each.identifier for each in channel.read()] == ["other"]
    channel.forget(1)
    assert path.read_text() == ""


def test_a_folder_of_that_name_is_said(tmp_path: Path) -> None:
    with pytest.raises(RetriableError, match="cannot be read"):
        FileChannel(tmp_path).read()


def test_what_is_no_signal_is_said_and_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "signals"
    path.write_text('nonsense\n{"id": "1"}\n' + LOG % "a")
    channel = FileChannel(path)
    assert [each.identifier for each in channel.read()] == ["a"]
    assert caplog.text.count("is not followed: it is no JSON object with a type") == 2
    channel.forget(1)
    assert path.read_text() == ""
