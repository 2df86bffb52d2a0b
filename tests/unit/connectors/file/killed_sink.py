"""A sink task that is killed again and again, each time at another call into the system, until all lines are out.

    python killed_sink.py FILE SEED LINES

Each life is a process of its own. Lines read "partition:offset". Prints how often it was killed.
"""

import os
import random
import signal
import sys
from contextlib import ExitStack
from typing import Any

from connect import SinkBatch, Text, TopicPartition
from connectors.file import FileStreamSinkTask

PLACES = [TopicPartition("lines", number) for number in range(3)]


class Context:
    connector = "files"

    def __init__(self) -> None:
        self.exit_stack = ExitStack()


def die_at(call: int, chance: random.Random) -> None:
    """Kill this process before, within or after one of its next calls."""
    calls = 0

    def mortal(function: Any) -> Any:
        def called(*args: Any, **keys: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls != call:
                return function(*args, **keys)
            moment = chance.choice(["before", "within", "after"])
            try:
                if moment == "after":
                    function(*args, **keys)
                elif moment == "within" and function is write:
                    write(args[0], args[1][: chance.randrange(len(args[1]) + 1)])
            finally:  # a call that fails, such as the opening of a file that is not there yet, ends it as well
                os.kill(os.getpid(), signal.SIGKILL)

        return called

    write = os.write
    for name in ("write", "fsync", "ftruncate", "replace", "open", "close"):
        setattr(os, name, mortal(getattr(os, name)))


def live(file: str, lines: int, chance: random.Random) -> None:
    task = FileStreamSinkTask()
    task.context = Context()  # type: ignore[assignment]
    task.start({"file": file, "exactly.once": "true"})
    known = task.open(PLACES) or {}
    position = {place: known.get(place, 0) for place in PLACES}
    while any(offset < lines for offset in position.values()):
        rows = []
        for _ in range(chance.randrange(1, 40)):
            place = chance.choice(PLACES)
            if position[place] < lines:
                rows.append((place.partition, position[place]))
                position[place] += 1
        texts: list[bytes | None] = [b"%d:%d" % row for row in rows]
        task.put(SinkBatch("lines", Text(texts), partitions=[r[0] for r in rows], offsets=[r[1] for r in rows]))
        if chance.random() < 0.3:
            task.pre_commit(position)
        elif chance.random() < 0.1:  # the partitions were lost and come back, with no commit in between
            task.close(PLACES)
            position |= task.open(PLACES) or {}
    task.pre_commit(position)
    task.context.exit_stack.close()


def main(file: str, seed: int, lines: int) -> None:
    chance = random.Random(seed)
    killed = 0
    while True:
        life = random.Random(chance.random())
        if (child := os.fork()) == 0:
            try:
                die_at(life.randrange(1, 40), life)
                live(file, lines, life)
            except BaseException:
                sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
                os._exit(1)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if not os.WIFSIGNALED(status):
            sys.stdout.write(f"{killed}\n")
            sys.exit(os.waitstatus_to_exitcode(status))
        killed += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
