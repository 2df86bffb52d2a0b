"""The file sink: what it writes, what is durable when, and what it says when it cannot write."""

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from connect import (
    ConfigError,
    ConnectError,
    FencedError,
    RetriableError,
    Schema,
    SinkBatch,
    SinkRecord,
    Text,
    TopicPartition,
    Type,
    Values,
    schema,
)
from connectors.file import FileStreamSinkConnector, FileStreamSinkTask, target

Start = Callable[..., FileStreamSinkTask]


def batch(*values: str, start: int = 0) -> SinkBatch:
    return SinkBatch("lines", Text([v.encode() for v in values]), offsets=range(start, start + len(values)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that were brought to the disk, in order."""
    names = []

    def fsync(descriptor: int) -> None:
        names.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real(descriptor)

    real = os.fsync
    monkeypatch.setattr(os, "fsync", fsync)
    return names


class TestWhatIsWritten:
    def test_is_a_line_for_each_record(self, file: Path, sink: Start) -> None:
        task = sink(file)
        task.put(batch("one", "", "é"))
        task.put(batch())
        task.put(batch("two"))
        assert file.read_text() == "one\n\né\ntwo\n"

    def test_is_javas_text_of_the_value(self, file: Path, sink: Start) -> None:
        person = Schema(Type.STRUCT, fields={"name": schema.STRING, "old": schema.BOOLEAN})
        values = [
            (None, None),
            (True, schema.BOOLEAN),
            (1e7, schema.FLOAT64),
            ({"name": "Ada", "old": False}, person),
            ({"a": [1, None]}, None),
        ]
        sink(file).put(SinkBatch.of(SinkRecord("lines", value, s, offset=i) for i, (value, s) in enumerate(values)))
        assert file.read_text().splitlines() == [
            "null",
            "true",
            "1.0E7",
            "Struct{name=Ada,old=false}",
            "{a=[1, null]}",
        ]

    def test_goes_to_the_end_of_a_file_that_exists(self, file: Path, sink: Start) -> None:
        file.write_text("before\n")
        sink(file).put(batch("after"))
        assert file.read_text() == "before\nafter\n"

    def test_does_not_run_on_in_a_line_that_a_crash_cut_off(self, file: Path, sink: Start) -> None:
        file.write_text("one\nhal")
        sink(file).put(batch("half", start=1))
        assert file.read_text() == "one\nhal\nhalf\n"

    def test_goes_to_standard_output_without_a_file(self, sink: Start, capfd: pytest.CaptureFixture[str]) -> None:
        task = sink()
        task.put(batch("one", "two"))
        task.flush({})
        task.context.exit_stack.close()
        assert capfd.readouterr().out == "one\ntwo\n"

    def test_goes_to_a_named_pipe_as_fast_as_it_is_read(self, tmp_path: Path, sink: Start) -> None:
        os.mkfifo(tmp_path / "fifo")
        with pytest.raises(ConnectError, match="start the reader first"):
            sink(tmp_path / "fifo")
        reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        task = sink(tmp_path / "fifo")
        task.put(batch("one"))
        task.flush({})
        assert os.read(reader, 100) == b"one\n"
        os.close(reader)
        with pytest.raises(ConnectError, match="whoever read it is gone"):
            task.put(batch("two"))

    def test_by_several_tasks_is_whole_lines(self, file: Path, sink: Start) -> None:
        tasks = [sink(file), sink(file)]
        for i in range(100):
            tasks[i % 2].put(batch(f"{i}" * 50, f"{i}" * 50))
        assert file.read_text().splitlines() == [f"{i // 2}" * 50 for i in range(200)]


class TestDurability:
    @pytest.mark.promise("P1")
    def test_lines_are_on_the_disk_before_their_offsets_are_said_to_be(
        self, file: Path, sink: Start, synced: list[str], place: TopicPartition
    ) -> None:
        task = sink(file)
        synced.clear()
        task.put(batch("one"))
        assert synced == []
        assert task.pre_commit({place: 1}) == {place: 1}
        assert synced == ["out.txt"]
        task.pre_commit({place: 1})
        assert synced == ["out.txt"]  # nothing new

    def test_can_be_left_to_the_system(self, file: Path, sink: Start, synced: list[str]) -> None:
        task = sink(file, fsync="false")
        synced.clear()
        task.put(batch("one"))
        task.flush({})
        assert synced == []

    @pytest.mark.promise("P1")
    def test_a_disk_that_failed_fails_the_task(
        self, file: Path, sink: Start, monkeypatch: pytest.MonkeyPatch, place: TopicPartition
    ) -> None:
        def fsync(descriptor: int) -> None:
            raise OSError(errno.EIO, "Input/output error")

        task = sink(file)
        task.put(batch("one"))
        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(ConnectError, match="durable: Input/output error. Look at the disk") as caught:
            task.pre_commit({place: 1})
        assert not isinstance(caught.value, RetriableError)


@contextmanager
def limited(size: int) -> Iterator[None]:
    """No file may become larger: a write beyond it is cut short, as on a full disk.

    For moments only: pytest's own log may be such a file.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class TestNoRoom:
    @pytest.mark.parametrize("exactly_once", ["false", "true"])
    def test_leaves_no_half_line_and_the_batch_can_be_put_again(
        self,
        file: Path,
        sink: Start,
        exactly_once: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        # The kernel really writes a part; only the error's number is a full disk's instead of the limit's.
        monkeypatch.setattr(target, "NO_ROOM", {errno.EFBIG})
        task = sink(file, exactly_once=exactly_once)
        task.put(batch("one"))
        with (
            limited(10),
            pytest.raises(RetriableError, match="No room to write .*Make room; writing goes on by itself"),
        ):
            task.put(batch("two", "three", start=1))
        assert file.read_text() == "one\n"
        task.put(batch("two", "three", start=1))
        task.flush({})
        assert file.read_text() == "one\ntwo\nthree\n"

    def test_on_a_device_is_retriable(self, sink: Start) -> None:
        with pytest.raises(RetriableError, match='No room to write "/dev/full"'):
            sink("/dev/full").put(batch("one"))

    def test_for_the_ledger_keeps_what_was_written_for_the_next_time(
        self, file: Path, sink: Start, monkeypatch: pytest.MonkeyPatch, place: TopicPartition
    ) -> None:
        task = sink(file, exactly_once="true")
        task.put(batch("one"))
        ledger = file.with_name("out.txt.offsets.new")
        ledger.symlink_to("/dev/full")
        with pytest.raises(RetriableError, match="No room"):
            task.pre_commit({place: 1})
        ledger.unlink()
        assert task.pre_commit({place: 1}) == {place: 1}
        task.context.exit_stack.close()
        assert sink(file, exactly_once="true").open([place]) == {place: 1}
        assert file.read_text() == "one\n"

    def test_in_the_middle_of_a_stream_goes_on_where_it_stopped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read, write = os.pipe()
        real, room = os.write, [3, 0, 100, 100]

        def cramped(descriptor: int, data: memoryview) -> int:
            if not (most := room.pop(0)):
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, data[:most])

        monkeypatch.setattr(os, "write", cramped)
        stream = target.Stream("standard output", write)
        with pytest.raises(RetriableError):
            stream.append(b"one\ntwo\n")
        stream.append(b"one\ntwo\n")
        stream.append(b"three\n")
        assert os.read(read, 100) == b"one\ntwo\nthree\n"
        stream.close()
        os.close(read)


class TestWhatCannotBeWritten:
    def test_a_directory_that_is_missing(self, tmp_path: Path, sink: Start) -> None:
        with pytest.raises(ConnectError, match=r'Cannot write ".*/no/out\.txt": No such file.* Make the directory'):
            sink(tmp_path / "no" / "out.txt")

    def test_a_directory(self, tmp_path: Path, sink: Start) -> None:
        with pytest.raises(ConnectError, match="It is a directory: name a file in it"):
            sink(tmp_path)

    @pytest.mark.usefixtures("unprivileged")
    def test_a_file_without_permission(self, file: Path, sink: Start) -> None:
        with pytest.raises(ConnectError, match=r"Permission denied\. Let user id \d+ write it"):
            sink(file)

    def test_a_file_that_may_not_grow(self, file: Path, sink: Start) -> None:
        task = sink(file)
        with limited(10), pytest.raises(ConnectError, match="may not grow any more") as caught:
            task.put(batch("a line of more than ten"))
        assert not isinstance(caught.value, RetriableError)
        assert file.read_text() == ""


class TestTheClaim:
    def test_of_one_alone_refuses_a_second_writer(self, file: Path, sink: Start) -> None:
        first = sink(file, exactly_once="true")
        for keys in ({"exactly_once": "true"}, {}):
            with pytest.raises(FencedError, match="Stop that one, or write to another file"):
                sink(file, **keys)
        first.context.exit_stack.close()
        sink(file, exactly_once="true")

    def test_of_one_alone_is_refused_where_others_write(self, file: Path, sink: Start) -> None:
        sink(file)
        with pytest.raises(FencedError, match="is written by another task"):
            sink(file, exactly_once="true")

    @pytest.mark.promise("P3")
    @pytest.mark.parametrize("loss", ["moved", "replaced", "written"])
    def test_that_was_lost_stops_the_writer(self, file: Path, sink: Start, loss: str, place: TopicPartition) -> None:
        task = sink(file, exactly_once="true")
        task.put(batch("one"))
        if loss == "written":
            with file.open("a") as other:
                other.write("foreign\n")
        else:
            file.rename(file.with_suffix(".moved"))
            if loss == "replaced":
                file.write_text("")
        for write in (lambda: task.put(batch("two", start=1)), lambda: task.pre_commit({place: 1})):
            with pytest.raises(FencedError):
                write()
        assert not any("two" in f.read_text() for f in file.parent.iterdir())


class TestTheConnector:
    def test_gives_every_task_the_same_file(self) -> None:
        connector = FileStreamSinkConnector()
        connector.start({"file": "out.txt"})
        assert connector.task_configs(3) == [{"file": "out.txt"}] * 3

    @pytest.mark.parametrize(
        ("keys", "needs"),
        [
            ({}, "needs file"),
            ({"file": "f", "tasks.max": "2"}, "needs tasks.max=1"),
            ({"file": "f", "fsync": "false"}, "needs fsync=true"),
        ],
    )
    def test_says_what_exactly_once_needs(self, keys: dict[str, str], needs: str) -> None:
        values = FileStreamSinkConnector().validate({**keys, "exactly.once": "true"})
        assert [(v.name, e.split(":")[0]) for v in values for e in v.errors] == [("exactly.once", needs)]

    def test_accepts_exactly_once_with_one_task(self) -> None:
        values = FileStreamSinkConnector().validate({"file": "f", "exactly.once": "true", "tasks.max": "1"})
        assert not any(value.errors for value in values)

    def test_has_no_exactly_once_for_a_stream(self, sink: Start) -> None:
        with pytest.raises(ConfigError, match="needs a regular file"):
            sink("/dev/null", exactly_once="true")


def test_values_need_not_be_texts(file: Path, sink: Start) -> None:
    sink(file).put(SinkBatch("lines", Values([1, 2]), offsets=[0, 1]))
    assert file.read_text() == "1\n2\n"
