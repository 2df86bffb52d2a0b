"""The JVM of a process: what it writes to its standard error, and the end of the process."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, resolve
from connect.jvm.java import JavaNotFound, find_java

#: Threads of Java write a line each and end. Then the process has nothing to do.
LINES = """
import json, logging, threading, time
from connect.java import jvm

lines, has_come = [], threading.Semaphore(0)

class Keep(logging.Handler):
    def emit(self, record):
        lines.append([record.name, record.levelname, record.getMessage()])
        has_come.release()

logging.getLogger().addHandler(Keep())
jvm.start()
error = jvm.java("java.lang.System").err

def say(line):
    thread = jvm.java("java.lang.Thread")(jvm.proxy("java.lang.Runnable", {"run": lambda: error.println(line)}))
    thread.start()
    thread.join()
    assert has_come.acquire(timeout=60)

say("plain, and \\u00e9")
say("[main] WARN x.Y - of a logger")
cpu = time.process_time()
has_come.acquire(timeout=5)  # a pipe of Java looks after its ends every second
print(json.dumps({"lines": lines, "idle": time.process_time() - cpu}))
"""


#: A task's last line is written just before it ends, beside another one that goes on.
LAST_LINE = """
import json, logging
from contextvars import ContextVar
from connect.java import jvm
from connect.java.logs import logs_of

task, lines = ContextVar("task", default=""), []

class Keep(logging.Handler):
    def emit(self, record):
        lines.append([task.get(), record.getMessage()])

logging.getLogger().addHandler(Keep())
jvm.start()
error = jvm.java("java.lang.System").err
task.set("orders-0")
with logs_of("orders-0"):
    task.set("orders-1")
    with logs_of("orders-1"):
        for number in range(500):
            error.println(f"[task-thread-orders-1] WARN x.Y - line {number}")
print(json.dumps(lines))
"""


#: One exception has a message, the other none.
ERRORS = """
import json
from connect.java import jvm

jvm.start()
error = jvm.java("java.lang.IllegalStateException")
print(json.dumps([str(jvm.as_error(each, "x.Y.start")) for each in (error(), error("it is late"))]))
"""


#: Java has Python objects that nobody holds, for longer than it takes Python to end.
LITTER = """
from connect.java import jvm

jvm.start()
for _ in range(30_000):
    jvm.proxy("java.lang.Runnable", {})
jvm.java("java.lang.System").gc()
"""


#: A JVM with options that cannot stand beside the runtime's own.
OPTIONS = """
import json, os
from connect.java import jvm

os.environ["JAVA_TOOL_OPTIONS"] = "-XX:+UseG1GC"
jvm.start(["-Xmx48m"])
beans = jvm.java("java.lang.management.ManagementFactory").getGarbageCollectorMXBeans()
heap = jvm.java("java.lang.Runtime").getRuntime().maxMemory()
print(json.dumps({"heap": heap, "collectors": [str(bean.getName()) for bean in beans]}))
"""


@pytest.fixture
def run(cannot_have: Callable[[str, object], NoReturn]) -> Callable[[str], str]:
    """Runs a program of Python with a JVM to its end. Returns what it prints."""
    try:
        find_java(17)
        resolve("kafka-connect")
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Kafka Connect", error)

    def run(program: str) -> str:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_lines_come_and_no_thread_works_when_those_that_wrote_have_ended(run: Callable[[str], str]) -> None:
    said = json.loads(run(LINES))
    assert said["lines"] == [["java", "WARNING", "plain, and é"], ["x.Y", "WARNING", "of a logger"]]
    assert said["idle"] < 1  # second


@pytest.mark.slow
def test_what_a_task_logs_at_its_end_is_logged_as_its_own(run: Callable[[str], str]) -> None:
    assert json.loads(run(LAST_LINE)) == [["orders-1", f"line {number}"] for number in range(500)]


@pytest.mark.slow
def test_an_exception_without_a_message_is_said_without_one(run: Callable[[str], str]) -> None:
    said = "x.Y.start: java.lang.IllegalStateException"
    assert json.loads(run(ERRORS)) == [said, f"{said}: it is late"]


@pytest.mark.slow
def test_a_process_ends_well_while_java_lets_go_of_what_it_had(run: Callable[[str], str]) -> None:
    run(LITTER)


@pytest.mark.slow
def test_a_collector_and_a_size_of_the_users_take_the_place_of_the_runtimes(run: Callable[[str], str]) -> None:
    """A JVM that is told of two collectors ends its process."""
    said = json.loads(run(OPTIONS))
    assert said["heap"] == 48 << 20
    assert any("G1" in each for each in said["collectors"])
