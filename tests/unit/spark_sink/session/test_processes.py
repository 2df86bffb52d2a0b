import os
import subprocess
import sys

from spark_sink.session.processes import Process, descendants, end, process

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def test_a_process_that_ended_is_told_from_a_later_one() -> None:
    with subprocess.Popen(SLEEP) as child:
        found = process(child.pid)
        assert found is not None
        assert found.is_alive()
        Process(child.pid, "another start").kill()
        assert found.is_alive()
        found.kill()

    assert not found.is_alive()


def test_children_of_children_are_found_and_ended() -> None:
    code = f"import subprocess; subprocess.Popen({SLEEP!r}); print('ready', flush=True); import time; time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        below = descendants(child.pid)
        assert len(below) == 1
        mine = process(child.pid)
        assert mine in descendants(os.getpid())
        end([mine, *below], 0.0)  # no other child of this process: the servers of other tests are among them

    assert not any(each.is_alive() for each in below)
