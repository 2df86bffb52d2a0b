import json
import logging
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from connect.storage import FileOffsetStore, OffsetStoreError
from tests.support.java import JavaProgram

FILE = {"filename": "a.txt"}

# A worker that stores ever higher positions and says each one that is durable.
COUNTING = """
import sys
from connect.storage import FileOffsetStore
store = FileOffsetStore(sys.argv[1])
for position in range(1, 1_000_000):
    store.set("orders", [({"filename": "a.txt"}, {"position": position})])
    print(position, flush=True)
"""

# What a Java worker in standalone mode does with its offsets. null is a partition that was reset.
JAVA = """
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;

public class Write {
    public static void main(String[] args) throws IOException {
        HashMap<byte[], byte[]> map = new HashMap<>();
        byte[] same = "{\\"position\\":7}".getBytes(StandardCharsets.UTF_8);
        map.put("[\\"orders\\",{\\"filename\\":\\"a.txt\\"}]".getBytes(StandardCharsets.UTF_8), same);
        map.put("[\\"orders\\",{\\"filename\\":\\"b.txt\\"}]".getBytes(StandardCharsets.UTF_8), same);
        map.put("[\\"orders\\",{\\"filename\\":\\"reset\\"}]".getBytes(StandardCharsets.UTF_8), null);
        for (int i = 0; i < 500; i++)
            map.put(("[\\"many\\",{\\"n\\":" + i + "}]").getBytes(StandardCharsets.UTF_8),
                    ("{\\"position\\":" + i + ",\\"name\\":\\"\\u00e4\\"}").getBytes(StandardCharsets.UTF_8));
        try (ObjectOutputStream out = new ObjectOutputStream(new FileOutputStream(args[0]))) {
            out.writeObject(args.length > 1 ? args[1] : map);
        }
    }
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "connect.offsets"


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory, java_program: Callable[..., JavaProgram]) -> Path:
    """A folder with two files of Java: `offsets`, and `text`, a serialised String."""
    folder: Path = tmp_path_factory.mktemp("files")
    write = java_program(JAVA)
    write.run(folder / "offsets")
    write.run(folder / "text", "no map")
    return folder


@pytest.fixture
def java_file(java: Path, path: Path) -> Path:
    return Path(shutil.copy(java / "offsets", path))


def position(path: Path) -> object:
    store = FileOffsetStore(path)
    try:
        found = store.get("orders", [FILE])[0]
        return found and found["position"]
    finally:
        store.close()


def store_position(path: Path, at: int) -> None:
    store = FileOffsetStore(path)
    store.set("orders", [(FILE, {"position": at})])
    store.close()


def test_offsets_outlive_the_worker_in_a_file_that_people_can_read_and_change(path: Path) -> None:
    store_position(path, 21)
    assert path.read_text() == (
        '{"format": "connect-offsets-1", "offsets": [\n[["orders",{"filename":"a.txt"}],{"position":21}]\n]}\n'
    )
    path.write_text(path.read_text().replace("21", "5"))
    assert position(path) == 5


@pytest.mark.parametrize("content", [None, b"", b"\n"])
def test_a_missing_or_empty_file_holds_no_offsets(path: Path, content: bytes | None) -> None:
    if content is not None:
        path.write_bytes(content)
    assert position(path) is None
    store_position(path, 1)
    assert position(path) == 1


@pytest.mark.promise("P10")
def test_a_worker_killed_at_any_moment_loses_nothing_that_was_stored(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(6):
        with subprocess.Popen([sys.executable, "-c", COUNTING, path], stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            for _ in range(chance.randrange(1, 200)):
                said = int(worker.stdout.readline())
            worker.kill()
            said = max(
                [said, *(int(line) for line in worker.stdout.read().splitlines(keepends=True) if line[-1:] == "\n")]
            )
        found = position(path)
        assert isinstance(found, int)
        assert said <= found <= said + 1


def test_a_file_cut_short_gives_way_to_the_save_before_it(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store_position(path, 1)
    store_position(path, 2)
    torn = path.read_bytes()[:-9]
    path.write_bytes(torn)
    with caplog.at_level(logging.WARNING):
        assert position(path) == 1
    assert f"{path} is damaged" in caplog.text
    assert Path(f"{path}.broken").read_bytes() == torn
    assert position(path) == 1  # also when the worker stopped before its first save


def test_every_way_to_cut_a_file_short_is_noticed(path: Path) -> None:
    store_position(path, 1)
    whole = path.read_bytes()
    for length in range(1, len(whole.rstrip())):
        path.write_bytes(whole[:length])
        with pytest.raises(OffsetStoreError, match="damaged"):
            FileOffsetStore(path)


def test_deleting_the_file_starts_anew_whatever_lies_beside_it(path: Path) -> None:
    store_position(path, 1)
    store_position(path, 2)
    path.unlink()
    assert position(path) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"root:x:0:0\n", "this is not an offset file, or it is damaged"),
        (b"\x00\x9f\x92", "this is not an offset file, or it is damaged"),
        (b"[]", r"this is not an offset file that this version can read \(format None\)"),
        (b'{"format": "connect-offsets-2"}', r"can read \(format connect-offsets-2\)"),
        (b'{"format": "connect-offsets-1"}', '"offsets" is not a list'),
        (b'{"format": "connect-offsets-1", "offsets": [[["a"], {}]]}', "is not an entry"),
        (b"\xac\xed\x00\x05", "this is a serialized Java object, but it is cut off"),
    ],
)
def test_what_is_no_offset_file_is_refused_and_left_alone(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(OffsetStoreError, match=message) as caught:
        FileOffsetStore(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "move it away" in str(caught.value)
    assert path.read_bytes() == content


def test_a_newer_format_is_not_taken_for_damage_though_a_save_lies_before_it(path: Path) -> None:
    store_position(path, 1)
    store_position(path, 2)
    path.unlink()
    path.write_text('{"format": "connect-offsets-2"}')
    with pytest.raises(OffsetStoreError, match="connect-offsets-2"):
        FileOffsetStore(path)


def test_a_place_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    with pytest.raises(OffsetStoreError, match=r"the folder .*/none does not exist. Create it."):
        FileOffsetStore(tmp_path / "none" / "offsets")
    with pytest.raises(OffsetStoreError, match="the folder /proc.* cannot be written"):
        FileOffsetStore("/proc/connect.offsets")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OffsetStoreError, match="cannot be read.*directory"):
        FileOffsetStore(tmp_path / "folder")


def test_a_second_worker_is_refused_with_the_first_one_s_process_id(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", COUNTING, path], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        try:
            with pytest.raises(OffsetStoreError, match=f"process {worker.pid} uses this offset file. Stop that worker"):
                FileOffsetStore(path)
        finally:
            worker.kill()
    assert position(path)


def test_one_process_cannot_open_a_file_twice_and_keeps_its_lock_when_it_tries(path: Path) -> None:
    first = FileOffsetStore(path)
    for _ in range(2):
        with pytest.raises(OffsetStoreError, match=f"process {os.getpid()} uses"):
            FileOffsetStore(path)
    first.close()
    first.close()
    assert position(path) is None


@contextmanager
def small_files() -> Iterator[None]:
    """A disk that is full, for a moment: no file may grow beyond 4096 bytes, and pytest's log may be one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_an_error_and_what_was_stored_stays(path: Path) -> None:
    store = FileOffsetStore(path)
    store.set("orders", [(FILE, {"position": 1})])
    with (
        small_files(),
        pytest.raises(OffsetStoreError, match="could not be stored.*The offsets stored before are intact"),
    ):
        store.set("orders", [(FILE, {"position": 2}), ({"filename": "x" * 5000}, {"position": 2})])
    assert store.get("orders", [FILE]) == [{"position": 1}]
    store.close()
    assert position(path) == 1


def test_a_symbolic_link_stays_one(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(path)
    store_position(tmp_path / "link", 4)
    assert (tmp_path / "link").is_symlink()
    assert position(path) == 4


def test_a_java_worker_s_file_is_read_and_never_changed(java_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = java_file.read_bytes()
    with caplog.at_level(logging.INFO):
        store = FileOffsetStore(java_file)
    assert f"Read 502 offsets from {java_file}" in caplog.text
    assert sorted(store.all("orders"), key=str) == [
        ({"filename": "a.txt"}, {"position": 7}),
        ({"filename": "b.txt"}, {"position": 7}),
    ]
    assert sorted(offset["position"] for _, offset in store.all("many")) == list(range(500))
    assert store.get("many", [{"n": 3}]) == [{"position": 3, "name": "ä"}]
    store.set("orders", [(FILE, {"position": 8})])
    store.close()
    assert java_file.read_bytes() == before
    assert json.loads(Path(f"{java_file}.connect").read_text())["format"] == "connect-offsets-1"


def test_the_file_beside_a_java_worker_s_counts_from_then_on(java_file: Path) -> None:
    store_position(java_file, 8)
    assert position(java_file) == 8


def test_a_java_worker_s_file_cut_short_anywhere_is_refused(java_file: Path, seed: int) -> None:
    whole = java_file.read_bytes()
    for length in random.Random(seed).sample(range(4, len(whole)), 100):
        java_file.write_bytes(whole[:length])
        with pytest.raises(OffsetStoreError, match="this is a serialized Java object, but it"):
            FileOffsetStore(java_file)


def test_another_file_of_java_is_refused(java: Path, path: Path) -> None:
    shutil.copy(java / "text", path)
    with pytest.raises(
        OffsetStoreError, match="a serialized Java object, but it holds something other than a map of bytes"
    ):
        FileOffsetStore(path)
