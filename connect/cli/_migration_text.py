"""The output of `connect migrate` for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Final

from connect.cli._files import warn
from connect.cli._migration import LANGUAGE, Verdict
from connect.cli._problems import Problems
from connect.pipeline.findings import Remark
from connect.telemetry.redaction import redactor

_HEADINGS: Final = {
    "python": "Python's own connector runs it",
    "java": "its jars run it, in a JVM that its tasks on a worker share",
    "change": "it needs a change",
    "missing": "its plug-in is missing",
}
_COUNTED: Final = {
    "python": "on Python's own connectors",
    "java": "on their jars",
    "change": "with a change to make",
    "missing": "without a plug-in here",
}
STEPS: Final = """\
To move a connector to another pool:
  1. connect stop NAME --url JAVA                     its tasks end, with their last offsets stored
  2. connect migrate --url JAVA --out {out}           once more (with --worker as now), for these offsets
  3. connect apply -f {out}/connectors/NAME.json --url NEW
  4. connect offsets set NAME -f {out}/offsets/NAME.json --url NEW        a source only
  5. connect resume NAME --url NEW
A sink continues at the offsets of its consumer group, where the brokers are the same.
To have workers of this runtime join the Java workers' group instead, no file is needed: `connect docs migrate`."""


def show(source: str, verdicts: Sequence[Verdict], problems: Problems, *, worker_known: bool, writes: bool) -> None:
    """Print each verdict, their numbers, and errors of the worker's file."""
    print(f"{source}: {len(verdicts)} connector{'s' if len(verdicts) != 1 else ''}.")
    for verdict in verdicts:
        print()
        print(redactor.redact("\n".join(_lines(verdict))))
    print()
    print(_counted(verdicts))
    if not worker_known and any(_inherits(verdict) for verdict in verdicts):
        why = "check them, and to write them into the connectors' files" if writes else "check them"
        print(f"Some connectors take converters from their workers: give the workers' file by --worker to {why}.")
    warn(problems)
    for text in problems.errors():
        print(text, file=sys.stderr)


def _lines(verdict: Verdict) -> Iterable[str]:
    yield f"{verdict.name}  ({verdict.connector_class or 'no connector.class'})"
    yield f"  {_HEADINGS[verdict.outcome]}{_measured(verdict)}."
    match verdict.outcome:
        case "java":
            assert verdict.plugin is not None
            yield f"  Plug-in: {verdict.plugin.folder}, version {verdict.plugin.version or 'unknown'}."
            if verdict.instead:
                yield f'  With "{LANGUAGE}": "java", since Python\'s own connector lacks something:'
                yield from _remarks(verdict.instead)
        case "missing":
            yield "  Copy its folder from the Java workers' plugin.path, and name it by --plugin-path."
        case _:
            yield from _remarks(verdict.errors)
            if verdict.may_run_by_jars:
                yield f'  Or put its jars on plugin.path, and set "{LANGUAGE}": "java".'
    yield from _remarks(verdict.remarks, "note: ")


def _measured(verdict: Verdict) -> str:
    return f", measured at {verdict.measured}" if verdict.measured is not None else ""


def _remarks(found: Sequence[Remark], what: str = "") -> Iterable[str]:
    for key, message in found:
        yield f"  - {what}{key}: {' '.join(message.split())}"


def _counted(verdicts: Sequence[Verdict]) -> str:
    counts = [
        f"{number} {words}"
        for outcome, words in _COUNTED.items()
        if (number := sum(verdict.outcome == outcome for verdict in verdicts))
    ]
    return f"{', '.join(counts)}." if counts else "Nothing to move."


def _inherits(verdict: Verdict) -> bool:
    return not {"key.converter", "value.converter"} <= verdict.config.keys()
