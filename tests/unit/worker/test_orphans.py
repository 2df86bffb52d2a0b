"""A program that adopts orphans ends only when they are gone, and leaves none to the system."""

import subprocess
import sys
import time

import psutil

# Starts a shell that starts another program in the background and ends at once.
PROGRAM = """
import subprocess, sys
from connect.worker import orphans
{adopt}
shell = subprocess.run(["sh", "-c", "sleep {seconds} >/dev/null 2>&1 & echo $!"], capture_output=True, text=True)
orphan = shell.stdout.strip()
print(orphan, open(f"/proc/{{orphan}}/stat").read().rpartition(")")[2].split()[1], flush=True)
print(orphans.reap({within}))
"""


def run(*, adopt: str = "orphans.adopt()", seconds: float, within: float) -> tuple[int, int, str, int]:
    """The orphan's process id, its parent's, what `reap` returned, and the process id of the program."""
    program = PROGRAM.format(adopt=adopt, seconds=seconds, within=within)
    started = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    orphan, parent, reaped = started.communicate(timeout=60)[0].split()
    return int(orphan), int(parent), reaped, started.pid


def test_an_orphan_is_waited_for_and_nothing_of_it_is_left():
    orphan, parent, reaped, program = run(seconds=0.3, within=30)
    assert (parent, reaped) == (program, "True")
    assert not psutil.pid_exists(orphan)


def test_who_does_not_adopt_leaves_it_to_others():
    _, parent, reaped, program = run(adopt="", seconds=0.3, within=30)
    assert parent != program
    assert reaped == "True"


def test_an_orphan_that_does_not_end_is_not_waited_for_longer_than_said():
    began = time.monotonic()
    orphan, _, reaped, _ = run(seconds=30, within=0.1)
    assert reaped == "False"
    assert time.monotonic() - began < 25
    psutil.Process(orphan).kill()


WAITS = """
import os, subprocess, sys, time
from connect.worker import orphans
orphans.adopt()
child = subprocess.Popen([sys.executable, "-c", '''
import os, subprocess, sys, time
orphan = int(subprocess.run(["sh", "-c", "true >/dev/null 2>&1 & echo $!"], capture_output=True, text=True).stdout)
while os.path.exists(f"/proc/{orphan}"):
    time.sleep(0.01)
sys.exit(7)
'''])
print(orphans.wait_for(child))
"""


def test_an_orphan_is_reaped_while_a_child_is_waited_for():
    done = subprocess.run([sys.executable, "-c", WAITS], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "7\n"
