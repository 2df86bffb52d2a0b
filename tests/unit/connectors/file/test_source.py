"""The file source: what it reads, where it goes on, and what it says when it cannot."""

import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from connect import ConnectError, ExactlyOnceSupport, schema
from connectors.file import FileStreamSourceConnector, FileStreamSourceTask
from connectors.file import source as source_module

Start = Callable[..., FileStreamSourceTask]


def lines(task: FileStreamSourceTask) -> list[str]:
    """What there is to read now."""
    found: list[str] = []
    while batch := task.poll():
        found += batch.values
    return found


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as f:
        f.write(data)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "in.txt"


class TestRecords:
    def test_are_those_of_the_original_but_for_the_timestamp(self, file: Path, source: Start) -> None:
        # As Kafka's FileStreamSource 4.3 reads the same bytes; it asks the clock for a timestamp, we leave it to the
        # producer, which does the same.
        file.write_bytes(b"a\r\nb\rc\n\n\xc3\xa9t\xc3\xa9\nbad\xff\xfex\nz\r")
        batch = source(file).poll()
        assert batch is not None
        assert [r.value for r in batch] == ["a", "b", "c", "", "été", "bad\ufffd\ufffdx"]
        assert {r.value_schema for r in batch} == {schema.STRING}
        assert {(r.topic, r.key, r.key_schema, r.partition, r.timestamp) for r in batch} == {
            ("lines", None, None, None, None)
        }
        assert {r.source_partition["filename"] for r in batch} == {str(file)}
        assert [r.source_offset["position"] for r in batch] == [3, 5, 7, 8, 14, 21]

    def test_bytes_of_utf_8_are_never_decoded_on_their_way(self, file: Path, source: Start) -> None:
        file.write_text("é\nx\n")
        batch = source(file).poll()
        assert batch is not None
        assert batch.values.encoded() == [b"\xc3\xa9", b"x"]  # type: ignore[attr-defined]

    def test_other_encodings_become_text_and_positions_stay_bytes(self, file: Path, source: Start) -> None:
        file.write_bytes("é\r\n漢字\nrest".encode("utf-16"))
        batch = source(file, encoding="UTF-16").poll()
        assert batch is not None
        assert [(r.value, r.source_offset["position"]) for r in batch] == [("é", 8), ("漢字", 14)]

    def test_come_in_the_number_that_the_user_set(self, file: Path, source: Start) -> None:
        file.write_text("".join(f"{i}\n" for i in range(10)))
        task = source(file, batch_size="4")
        batches = [task.poll(), task.poll(), task.poll()]
        assert [list(b.values) for b in batches if b] == [list("0123"), list("4567"), list("89")]
        assert [b.source_offsets[-1]["position"] for b in batches if b] == [8, 16, 20]
        assert task.poll() is None

    def test_last_offset_of_a_batch_is_known_without_counting(self, file: Path, source: Start) -> None:
        file.write_text("a\nbb\nccc\n")
        batch = source(file).poll()
        assert batch is not None
        by_row = [batch.source_offsets[row] for row in (2, 0, 1)]
        assert by_row == [batch.source_offsets.to_list()[row] for row in (2, 0, 1)]


class TestAFileThatGrows:
    def test_is_followed_line_by_line(self, file: Path, source: Start) -> None:
        file.write_text("one\ntw")
        task = source(file)
        assert lines(task) == ["one"]
        append(file, b"o\nthree")
        assert lines(task) == ["two"]
        append(file, b"\r")
        assert lines(task) == []  # a line feed may follow
        append(file, b"\nfour\n")
        assert lines(task) == ["three", "four"]

    def test_is_awaited_when_it_does_not_exist_yet(self, file: Path, source: Start) -> None:
        task = source(file)
        assert task.poll() is None
        file.write_text("here\n")
        assert lines(task) == ["here"]

    def test_may_have_lines_longer_than_what_is_read_at_a_time(self, file: Path, source: Start) -> None:
        long = "x" * (3 << 20)
        file.write_text(f"{long}\nshort\n")
        assert lines(source(file)) == [long, "short"]

    def test_fails_the_task_when_a_line_has_no_end(self, file: Path, source: Start) -> None:
        file.write_bytes(b"ok\n" + bytes(5000))
        with pytest.raises(ConnectError, match=r"the line at byte 3 is longer than max\.line\.bytes=4096"):
            lines(source(file, max_line_bytes="4096"))


class TestAStoredOffset:
    def test_of_a_java_worker_says_where_to_go_on(self, file: Path, source: Start) -> None:
        file.write_text("one\ntwo\n")
        assert lines(source(file, stored={str(file): {"position": 4}})) == ["two"]

    def test_of_any_line_says_where_to_go_on(self, file: Path, source: Start, seed: int) -> None:
        chance = random.Random(seed)
        written = ["é" * chance.randrange(40) for _ in range(100)]
        file.write_text("".join(line + chance.choice(["\n", "\r\n"]) for line in written), newline="")
        batch = source(file).poll()
        assert batch is not None
        assert list(batch.values) == written
        for row, offset in enumerate(batch.source_offsets):
            assert lines(source(file, stored={str(file): offset})) == written[row + 1 :]

    def test_that_is_none_fails_the_task(self, file: Path, source: Start) -> None:
        file.write_text("one\n")
        task = source(file, stored={str(file): {"position": "4"}})
        with pytest.raises(ConnectError, match=r"position '4' where a number of bytes is meant"):
            task.poll()

    def test_beyond_the_end_means_that_the_file_was_cut(self, file: Path, source: Start) -> None:
        file.write_text("new\n")
        assert lines(source(file, stored={str(file): {"position": 100}})) == ["new"]

    def test_of_a_file_that_was_written_anew_is_not_used(self, file: Path, source: Start) -> None:
        file.write_text("old first\nold second\n")
        stored = {str(file): offset_after_all(source(file))}
        with file.open("r+") as f:  # the same inode, and longer than before
            f.write("new first\nnew second\nnew third\n")
        assert lines(source(file, stored=stored)) == ["new first", "new second", "new third"]

    def test_holds_for_a_copy_of_the_file_elsewhere(self, file: Path, tmp_path: Path, source: Start) -> None:
        written = "".join(f"line {i}\n" for i in range(500))
        file.write_text(written)
        stored = {str(file): offset_after_all(source(file))}
        copy = tmp_path / "copy"
        copy.write_text(written + "more\n")
        (tmp_path / "elsewhere").mkdir()
        file.rename(tmp_path / "elsewhere" / "original")
        copy.rename(file)
        assert lines(source(file, stored=stored)) == ["more"]

    def test_of_another_file_needs_no_right_to_list_the_folder(
        self, file: Path, source: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        file.write_text("old\n")
        stored = {str(file): offset_after_all(source(file))}
        file.rename(file.with_suffix(".1"))
        file.write_text("new\n")

        def refused(folder: str) -> None:
            raise PermissionError(13, "Permission denied", folder)

        monkeypatch.setattr(os, "scandir", refused)
        assert lines(source(file, stored=stored)) == ["new"]
        assert "may not list" in caplog.text


def offset_after_all(task: FileStreamSourceTask) -> Any:
    offset = None
    while batch := task.poll():
        offset = batch.source_offsets[-1]
    return offset


class TestATruncatedFile:
    def test_is_read_from_the_beginning(self, file: Path, source: Start) -> None:
        file.write_text("one\ntwo\nhalf")
        task = source(file)
        assert lines(task) == ["one", "two"]
        file.write_text("new\n")  # the same inode
        assert lines(task) == ["new"]

    def test_is_noticed_even_if_it_has_grown_beyond_the_place_since(self, file: Path, source: Start) -> None:
        file.write_text("one\ntwo\n")
        task = source(file)
        lines(task)
        file.write_text("a new one that is longer\n")
        assert lines(task) == ["a new one that is longer"]


class TestARotatedFile:
    def test_is_read_to_its_end_before_the_new_one(self, file: Path, source: Start) -> None:
        file.write_text("one\n")
        task = source(file)
        assert lines(task) == ["one"]
        append(file, b"two\nthree without end")
        file.rename(file.with_suffix(".1"))
        assert lines(task) == ["two"]
        file.touch()  # as long as it is empty its writer may still write to the old one
        append(file.with_suffix(".1"), b", now with\n")
        assert lines(task) == ["three without end, now with"]
        append(file.with_suffix(".1"), b"last, cut off")
        file.write_text("new\n")
        assert lines(task) == ["last, cut off", "new"]

    def test_may_get_its_last_line_while_we_look_for_the_new_one(
        self, file: Path, source: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file.write_text("one\n")
        task = source(file)
        look = Path.stat

        def rotate_first(path: Path) -> os.stat_result:
            monkeypatch.undo()
            append(file, b"two\n")
            file.rename(file.with_suffix(".1"))
            file.write_text("new\n")
            return look(path)

        monkeypatch.setattr(Path, "stat", rotate_first)
        assert lines(task) + lines(task) == ["one", "two", "new"]

    def test_is_read_to_its_end_after_a_restart(self, file: Path, source: Start) -> None:
        file.write_text("one\ntwo\n")
        batch = source(file).poll()
        assert batch is not None
        stored = {str(file): batch.source_offsets[0]}
        file.rename(file.with_suffix(".1"))
        file.write_text("new one\n")
        task = source(file, stored=stored)
        assert lines(task) == ["two", "new one"]
        append(file, b"new two\n")
        assert lines(task) == ["new two"]

    def test_that_is_gone_after_a_restart_costs_no_line_of_the_new_one(self, file: Path, source: Start) -> None:
        file.write_text("one\ntwo\n")
        stored = {str(file): offset_after_all(source(file))}
        other = file.with_suffix(".new")
        other.write_text("one\ntwo\nthree\n")  # begins as the old one did: too little to be sure that it is the same
        other.rename(file)
        assert lines(source(file, stored=stored)) == ["one", "two", "three"]

    def test_any_number_of_times_at_any_moment_loses_and_repeats_nothing(
        self, file: Path, source: Start, seed: int
    ) -> None:
        chance = random.Random(seed)
        task = source(file)
        read: list[str] = []
        written = before = rotations = 0
        while written < 3000:
            match chance.choice(["write", "write", "read", "rotate"]):
                case "write":
                    some = range(written, written + chance.randrange(200))
                    append(file, b"".join(b"%d\n" % i for i in some))
                    written = some.stop
                case "read":
                    read += list(batch.values) if (batch := task.poll()) else []
                case "rotate" if len(read) > before:  # only a file that was opened is known under another name
                    rotations += 1
                    before = written
                    file.rename(file.with_suffix(f".{rotations}"))
        read += lines(task)
        assert rotations
        assert read == [str(i) for i in range(written)]


class TestADeletedFile:
    def test_is_closed_once_it_is_read_and_another_is_awaited(self, file: Path, source: Start) -> None:
        file.write_text("one\n" * 500)  # more than what identifies a file
        task = source(file)
        assert len(lines(task)) == 500
        with file.open("ab") as writer:
            file.unlink()
            assert lines(task) == []
            writer.write(b"its writer has not noticed\nand ends")
        assert lines(task) == ["its writer has not noticed"]
        assert task._open
        task.deleted_seconds = 0.0  # type: ignore[misc]
        assert lines(task) == ["and ends"]
        assert task._open == {}
        assert lines(task) == []
        file.write_text("one\n" * 500 + "new\n")
        assert lines(task) == ["one"] * 500 + ["new"]

    def test_that_another_one_follows_at_once_is_read_to_its_end(self, file: Path, source: Start) -> None:
        file.write_text("one\ntwo")
        task = source(file)
        assert lines(task) == ["one"]
        file.unlink()
        assert lines(task) == []
        file.write_text("new\n")
        assert lines(task) == ["two", "new"]


class TestWhatCannotBeRead:
    def test_a_directory(self, tmp_path: Path, source: Start) -> None:
        with pytest.raises(ConnectError, match=r"is a directory. For the files in it write .*/\* as file"):
            source(tmp_path).poll()

    @pytest.mark.usefixtures("unprivileged")
    def test_a_file_without_permission(self, file: Path, source: Start) -> None:
        with pytest.raises(ConnectError, match=r"Cannot read .*: Permission denied\. Let user id"):
            source(file).poll()

    def test_a_path_through_a_file(self, file: Path, source: Start) -> None:
        file.touch()
        with pytest.raises(ConnectError, match="Not a directory"):
            source(file / "x").poll()


class TestPipes:
    @pytest.fixture
    def stdin(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
        """The end that others write to."""
        read, write = os.pipe()
        monkeypatch.setattr(source_module, "STDIN", read)
        yield write
        os.close(read)

    def test_standard_input_gives_lines_without_positions(self, source: Start, stdin: int) -> None:
        task = source()
        assert task.poll() is None
        os.write(stdin, b"one\ntw")
        batch = task.poll()
        assert batch is not None
        assert [(r.value, r.source_partition, r.source_offset) for r in batch] == [
            ("one", {"filename": None}, {"position": None})
        ]
        os.write(stdin, b"o\nlast without an end")
        assert lines(task) == ["two"]
        os.close(stdin)
        assert lines(task) == ["last without an end"]
        assert task.poll() is None

    def test_a_named_pipe_is_read_whoever_opens_it(self, tmp_path: Path, source: Start) -> None:
        os.mkfifo(tmp_path / "fifo")
        task = source(tmp_path / "fifo")
        assert task.poll() is None
        for text in ("one\ntwo\n", "three\n"):
            (tmp_path / "fifo").write_text(text)
            assert lines(task) == text.split()


class TestSeveralFiles:
    def start(self, file: str, **keys: str) -> tuple[FileStreamSourceConnector, threading.Event]:
        asked = threading.Event()

        class Context:
            exit_stack = ExitStack()

            def request_task_reconfiguration(self) -> None:
                asked.set()

        connector = FileStreamSourceConnector()
        connector.scan_seconds = 0.01  # type: ignore[misc]
        connector.context = Context()  # type: ignore[assignment]
        connector.start({"file": file, "topic": "lines", **keys})
        return connector, asked

    def test_one_file_keeps_the_configuration_of_the_original(self) -> None:
        connector, _ = self.start("in.txt")
        assert connector.task_configs(4) == [{"file": "in.txt", "topic": "lines"}]

    def test_are_shared_out_among_tasks(self, tmp_path: Path, source: Start) -> None:
        for name in "abcde":
            (tmp_path / f"{name}.log").write_text(f"from {name}\n")
        (tmp_path / "f.txt").write_text("another\n")
        (tmp_path / "directory.log").mkdir()
        connector, _ = self.start(f"{tmp_path}/*.log")
        configs = connector.task_configs(2)
        connector.context.exit_stack.close()
        assert len(configs) == 2
        read = [lines(source(**{name.replace(".", "_"): value for name, value in c.items()})) for c in configs]
        assert sorted(line for part in read for line in part) == [f"from {name}" for name in "abcde"]
        assert {len(part) for part in read} == {2, 3}

    def test_are_read_in_turns(self, tmp_path: Path, source: Start) -> None:
        (tmp_path / "a").write_text("x\n" * (2 << 20))
        (tmp_path / "b").write_text("b\n")
        connector, _ = self.start(f"{tmp_path}/a, {tmp_path}/b")
        [config] = connector.task_configs(1)
        task = source(config["file"], task_files=config["task.files"])
        batches = [task.poll() for _ in range(2)]
        assert [b.source_partitions[0]["filename"] for b in batches if b] == [f"{tmp_path}/a", f"{tmp_path}/b"]

    def test_new_ones_are_noticed(self, tmp_path: Path) -> None:
        connector, asked = self.start(f"{tmp_path}/*.log,{tmp_path}/fixed")
        assert len(connector.task_configs(9)) == 1
        (tmp_path / "a.log").touch()
        assert asked.wait(10)
        connector.context.exit_stack.close()
        assert len(connector.task_configs(9)) == 2

    def test_one_that_is_missing_while_it_is_rotated_stays(self, tmp_path: Path) -> None:
        (tmp_path / "a.log").touch()
        connector, asked = self.start(f"{tmp_path}/*.log")
        (tmp_path / "a.log").rename(tmp_path / "a.1")
        (tmp_path / "b.log").touch()
        assert asked.wait(10)
        connector.context.exit_stack.close()
        assert len(connector.task_configs(9)) == 2

    def test_none_that_match_run_no_task(self, tmp_path: Path) -> None:
        connector, _ = self.start(f"{tmp_path}/*.log")
        connector.context.exit_stack.close()
        assert connector.task_configs(3) == []

    def test_a_file_that_exists_is_taken_by_its_name(self, tmp_path: Path) -> None:
        file = tmp_path / "a,b[1].txt"
        file.touch()
        connector, _ = self.start(str(file))
        assert connector.task_configs(3) == [{"file": str(file), "topic": "lines"}]


class TestTheConnector:
    def test_says_what_is_wrong_with_each_key(self) -> None:
        wrong = {"topic": "", "batch.size": "0", "encoding": "klingon", "max.line.bytes": "-1"}
        errors = {value.name: value.errors for value in FileStreamSourceConnector().validate(wrong) if value.errors}
        assert errors.keys() == wrong.keys()
        assert "Examples: UTF-8" in errors["encoding"][0]

    def test_can_be_exactly_once_where_there_are_positions(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        connector = FileStreamSourceConnector()
        assert connector.exactly_once_support({"file": "in.txt"}) is ExactlyOnceSupport.SUPPORTED
        assert connector.exactly_once_support({}) is ExactlyOnceSupport.UNSUPPORTED
        assert connector.exactly_once_support({"file": f"{tmp_path}/fifo"}) is ExactlyOnceSupport.UNSUPPORTED

    def test_takes_offsets_that_make_sense(self) -> None:
        connector = FileStreamSourceConnector()
        partition = frozenset({"filename": "in.txt"}.items())
        assert connector.alter_offsets({"file": "in.txt"}, {partition: {"position": 4}})
        assert connector.alter_offsets({"file": "in.txt"}, {partition: None})
        for offset in ({"position": -1}, {"position": "4"}, {}, {"position": True}):
            with pytest.raises(ConnectError, match="position"):
                connector.alter_offsets({"file": "in.txt"}, {partition: offset})
        with pytest.raises(ConnectError, match="filename"):
            connector.alter_offsets({"file": "in.txt"}, {frozenset({"name": "in.txt"}.items()): {"position": 4}})
        with pytest.raises(ConnectError, match="Standard input"):
            connector.alter_offsets({}, {partition: None})
