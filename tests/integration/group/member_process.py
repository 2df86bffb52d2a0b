"""One member in a process of its own, to be stopped and killed: a line of JSON for all that happens to it.

Arguments: brokers, group, protocol, number, and the tasks of connector x.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from members import Cluster, Worker

from connect.worker.lease import now


def main() -> None:
    bootstrap, group, protocol, number, tasks = sys.argv[1:]
    cluster = Cluster()
    cluster.configure(x=int(tasks))
    worker = Worker(cluster, bootstrap, group, protocol, int(number), {})
    furthest = [0.0]

    def sample() -> None:
        while True:
            furthest[0] = max(furthest[0], worker.membership.live_until())
            time.sleep(0.01)

    threading.Thread(target=sample, daemon=True).start()
    worker.membership.start()
    seen_joins = seen_losses = 0
    while True:
        while seen_losses < len(worker.losses):
            reason, live, at = worker.losses[seen_losses]
            say(what="lost", reason=reason, live=live, at=at, until=furthest[0])
            seen_losses += 1
        while seen_joins < len(worker.history):
            joined = worker.history[seen_joins]
            say(what="joined", generation=joined.generation, at=joined.at, owned=len(worker.owned), at_now=now())
            seen_joins += 1
        time.sleep(0.01)


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
