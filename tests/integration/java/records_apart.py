"""A Java transformation whose results Python has not all: `python -m tests.integration.java.records_apart JAR`.

Prints which records pass a chain that tolerates errors, and why the others do not.
"""

from __future__ import annotations

import sys

from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord
from connect.java.plugins import stand_in
from connect.pipeline.chain import Chain
from connect.pipeline.failure import Failure
from connect.pipeline.policy import ErrorPolicy
from connect.pipeline.steps import Transform


def _noted(failure: Failure) -> None:
    sys.stdout.write(f"{failure.record.offset}: {failure.error}\n")


def main(jar: str) -> int:
    """Returns the exit code."""
    made = stand_in("transformation", "x.Chain$Dated", jar)()
    made.configure(made.settings.parse({}))
    chain = Chain([Transform(made)], ErrorPolicy(tolerate=True, dead_letter=_noted))
    values = ["bad", "a", "far", "b", "far", "bad", "c"]
    batch = SinkBatch.of(
        [SinkRecord(topic="t", partition=0, offset=offset, value=value) for offset, value in enumerate(values)]
    )
    passed = chain.run(batch)
    sys.stdout.write(f"passed {passed.offsets.to_list()}\n")
    chain.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
