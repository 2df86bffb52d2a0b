import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from connect.telemetry import processes as tree

# A child that ends after it burnt CPU, one that lives on in memory, and one that its parent no longer knows.
FAMILY = """
import os, subprocess, sys, time
burn = "import time\\nwhile time.process_time() < 0.3: pass"
subprocess.run([sys.executable, "-c", burn], check=True)
hold = "import sys; block = b'x' * 50_000_000; print(len(block), flush=True); sys.stdin.read()"
child = subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE)
child.stdout.readline()
orphan = subprocess.check_output(["/bin/sh", "-c", "cat <&3 >/dev/null & echo $!"], pass_fds=[3])
print(int(orphan), flush=True)  # its parent has ended
sys.stdin.read()
"""


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """The process ids of a parent and of its orphaned grandchild."""
    end, ours = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", "import os; os.dup2(0, 3, inheritable=True)\n" + FAMILY],
        stdin=end,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    os.close(end)
    assert process.stdout is not None
    orphan = int(process.stdout.readline())
    yield process.pid, orphan
    os.close(ours)  # they all read from it, so they all end
    process.wait()
    process.stdout.close()


def test_a_tree_holds_children_and_those_whose_parent_is_gone(family: tuple[int, int]) -> None:
    leader, orphan = family
    members = {process.pid: process for process in tree.tree(leader)}
    assert len(members) == 3
    assert members[orphan].parent != leader
    assert os.getpid() not in members


def test_cpu_of_a_child_that_ended_still_counts(family: tuple[int, int]) -> None:
    assert tree.cpu(family[0]) >= 0.3


def test_memory_of_all_members_counts(family: tuple[int, int]) -> None:
    members = tree.tree(family[0])
    assert sum(tree.pss(process.pid) for process in members) > 50_000_000
    assert sum(process.rss for process in members) > 50_000_000


def test_a_process_that_is_gone_counts_nothing() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert tree.look(gone.pid) is None
    assert tree.tree(gone.pid) == []
    assert tree.pss(gone.pid) == 0


def test_a_process_that_may_not_be_looked_at_counts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_options: object) -> str:
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    assert tree.look(os.getpid()) is None
    assert tree.pss(os.getpid()) == 0
