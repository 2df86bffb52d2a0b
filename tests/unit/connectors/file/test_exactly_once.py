"""The file sink with exactly.once: killed at any moment, it loses nothing and repeats nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import connectors
from connect import ConnectError, SinkBatch, Text, TopicPartition
from connectors.file import FileStreamSinkConnector, FileStreamSinkTask

Start = Callable[..., FileStreamSinkTask]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def numbered(rows: Iterable[int], partition: int = 0) -> SinkBatch:
    rows = list(rows)
    return SinkBatch("lines", Text([b"%d" % row for row in rows]), partitions=partition, offsets=rows)


def ledger(file: Path) -> dict[str, object]:
    return json.loads(file.with_name("out.txt.offsets").read_bytes())


@pytest.mark.promise("P1", "P10")
def test_killed_at_any_call_no_line_is_lost_or_repeated(file: Path, seed: int) -> None:
    lines = 3000
    script = Path(__file__).with_name("killed_sink.py")
    environment = os.environ | {"PYTHONPATH": str(Path(connectors.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, script, file, str(seed), str(lines)],
        env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
    written = file.read_text().splitlines()
    for partition in range(3):
        mine = [line for line in written if line.startswith(f"{partition}:")]
        assert mine == [f"{partition}:{offset}" for offset in range(lines)]
    assert len(written) == 3 * lines
    assert ledger(file) == {
        "connector": "files",
        "length": file.stat().st_size,
        "offsets": [["lines", partition, lines] for partition in range(3)],
    }


@pytest.mark.promise("P10")
def test_what_was_not_flushed_is_cut_off_and_asked_for_again(file: Path, sink: Start, place: TopicPartition) -> None:
    file.write_text("there before, without an end")
    task = sink(file, exactly_once="true")
    assert task.open([place]) == {}
    task.put(numbered(range(3)))
    task.context.exit_stack.close()
    assert file.read_text() == "there before, without an end\n0\n1\n2\n"

    task = sink(file, exactly_once="true")
    assert file.read_text() == "there before, without an end\n"
    assert task.open([place]) == {}
    task.put(numbered(range(3)))
    task.pre_commit({place: 3})
    task.put(numbered(range(3, 6)))
    task.context.exit_stack.close()

    task = sink(file, exactly_once="true")
    assert file.read_text() == "there before, without an end\n0\n1\n2\n"
    assert task.open([place, TopicPartition("lines", 1)]) == {place: 3}


def test_partitions_that_come_back_go_on_where_the_file_is(file: Path, sink: Start, place: TopicPartition) -> None:
    other = TopicPartition("lines", 1)
    task = sink(file, exactly_once="true")
    task.open([place, other])
    task.put(numbered(range(3)))
    task.put(numbered(range(5), partition=1))
    task.close([place])
    assert task.open([place]) == {place: 3}
    assert ledger(file)["offsets"] == [["lines", 0, 3], ["lines", 1, 5]]


def test_offsets_that_no_line_came_of_count_as_done(file: Path, sink: Start, place: TopicPartition) -> None:
    task = sink(file, exactly_once="true")
    task.put(numbered([0, 1]))
    task.pre_commit({place: 9})  # a transformation dropped the others
    task.context.exit_stack.close()
    assert sink(file, exactly_once="true").open([place]) == {place: 9}


def test_a_topic_that_begins_anew_is_followed(file: Path, sink: Start, place: TopicPartition) -> None:
    task = sink(file, exactly_once="true")
    task.put(numbered([100]))
    task.pre_commit({place: 101})
    task.put(numbered([0, 1]))
    task.pre_commit({place: 2})
    task.context.exit_stack.close()
    assert sink(file, exactly_once="true").open([place]) == {place: 2}


@pytest.mark.promise("P1")
def test_the_ledger_is_written_after_the_lines_are_durable(
    file: Path, sink: Start, place: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = sink(file, exactly_once="true")
    task.put(numbered([0]))
    steps = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda d: (steps.append(Path(f"/proc/self/fd/{d}").readlink().name), fsync(d))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append("replace"), replace(a, b))[1])
    task.pre_commit({place: 1})
    assert steps == ["out.txt", "out.txt.offsets.new", "replace", file.parent.name]
    steps.clear()
    task.pre_commit({place: 1})
    assert steps == []  # nothing new


class TestALedgerThatDoesNotFit:
    def flushed(self, file: Path, sink: Start, place: TopicPartition) -> None:
        task = sink(file, exactly_once="true")
        task.put(numbered(range(3)))
        task.pre_commit({place: 3})
        task.context.exit_stack.close()

    def test_a_file_cut_short_by_somebody_is_not_written_to(
        self, file: Path, sink: Start, place: TopicPartition
    ) -> None:
        self.flushed(file, sink, place)
        file.write_text("0\n")
        with pytest.raises(ConnectError, match=r"has 2 bytes where its ledger accounts for 6: .* remove"):
            sink(file, exactly_once="true")
        assert file.read_text() == "0\n"

    def test_another_connectors_file_is_not_written_to(self, file: Path, sink: Start, place: TopicPartition) -> None:
        self.flushed(file, sink, place)
        with pytest.raises(ConnectError, match="belongs to the connector files, .* Give this connector a file"):
            sink(file, connector="other", exactly_once="true")

    @pytest.mark.parametrize("text", ["", "not json", "[]", '{"length": 1}', '{"connector": "files", "length": null}'])
    def test_what_is_no_ledger_is_not_overwritten(self, file: Path, sink: Start, text: str) -> None:
        file.with_name("out.txt.offsets").write_text(text)
        with pytest.raises(ConnectError, match="is not a ledger of this sink"):
            sink(file, exactly_once="true")
        assert file.with_name("out.txt.offsets").read_text() == text


class TestOffsetsThatAUserChanges:
    CONFIG = staticmethod(lambda file: {"file": str(file), "exactly.once": "true"})

    def test_are_changed_in_the_ledger(self, file: Path, sink: Start, place: TopicPartition) -> None:
        other = TopicPartition("lines", 1)
        task = sink(file, exactly_once="true")
        task.put(numbered(range(3)))
        task.put(numbered(range(3), partition=1))
        task.pre_commit({})
        task.context.exit_stack.close()
        assert FileStreamSinkConnector().alter_offsets(self.CONFIG(file), {place: 1, other: None})
        task = sink(file, exactly_once="true")
        assert task.open([place, other]) == {place: 1}
        assert len(file.read_text().splitlines()) == 6

    def test_are_refused_while_the_file_is_written(self, file: Path, sink: Start, place: TopicPartition) -> None:
        sink(file, exactly_once="true")
        with pytest.raises(ConnectError, match="is written by another task"):
            FileStreamSinkConnector().alter_offsets(self.CONFIG(file), {place: 1})

    def test_are_kafkas_own_without_a_ledger(self, file: Path, place: TopicPartition) -> None:
        assert FileStreamSinkConnector().alter_offsets({"file": str(file)}, {place: 1})
        assert not file.exists()
