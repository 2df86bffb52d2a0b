"""Every check in its order, and how they are run: one that fails unexpectedly is a finding, and stops no other.

A check is a function of a `Subject`. It only reads, changes nothing, and yields a `Finding` for each thing that it has
checked, also where all is well; where it has nothing to check it yields nothing. Requests over a network have the
subject's time limit. Secrets are removed from findings here, whatever a check returns.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Final

from connect.cli._doctor.finding import Finding, error
from connect.cli._doctor.subject import Subject
from connect.errors import one_line
from connect.telemetry.redaction import redactor

Check = Callable[[Subject], Iterator[Finding]]

#: The families, and where their checks are: a function `check` in each module.
AREAS: Final = {
    "files": "files",
    "secrets": "secrets",
    "certificates": "certificates",
    "plug-ins": "plugins",
    "listeners": "listeners",
    "java": "java",
    "disks": "disks",
    "limits": "limits",
    "brokers": "cluster",
    "connectors": "connectors",
    "targets": "targets",
    "clocks": "clocks",
}


def examine(subject: Subject) -> Iterator[Finding]:
    """All findings, each as soon as it exists. Equal findings of two checks are reported once."""
    said = set()
    for area, module in AREAS.items():

        def check(module: str = module) -> Iterator[Finding]:
            found: Check = import_module(f"connect.cli._doctor.{module}").check
            return found(subject)

        for finding in guarded(area, check, debug=subject.debug):
            mark = finding.level, finding.what, finding.found
            if mark not in said:
                said.add(mark)
                yield finding


def guarded(area: str, check: Callable[[], Iterator[Finding]], *, debug: bool = False) -> Iterator[Finding]:
    """The findings of one check, without secrets; an unexpected error is one of them."""
    try:
        for finding in check():
            yield _clean(finding, area)
    except Exception as problem:
        if debug:
            traceback.print_exc(file=sys.stderr)
        said = f"ended unexpectedly: {type(problem).__name__}: {one_line(problem)}"
        advice = "The other checks ran. Run the command with --debug to see where it happened, and report it."
        yield _clean(error("this check", said, advice), area)


def _clean(finding: Finding, area: str) -> Finding:
    return replace(
        finding,
        area=finding.area or area,
        what=redactor.redact(finding.what),
        found=redactor.redact(finding.found),
        next_step=redactor.redact(finding.next_step),
    )
