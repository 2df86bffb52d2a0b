"""The group of workers: whether its name is free for them, and its members' protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connect.cli._doctor.brokers import Reached
from connect.cli._doctor.finding import Finding, error, note, ok, warning
from connect.cli._doctor.subject import Subject
from connect.cli._exit import INVALID, UNREACHABLE
from connect.cli._table import counted
from connect.group.wire import PROTOCOLS
from connect.kafka.admin.answers import AdminError
from connect.kafka.admin.inspection import Group

#: The type of the protocol of workers.
_WORKERS: Final = "connect"
_DEAD: Final = ("", "Dead", "Empty")


def check(subject: Subject, reached: Reached) -> Iterator[Finding]:
    """The group of `group.id`."""
    assert subject.worker is not None
    name = subject.worker.config["group.id"]
    if not name:
        return  # which is said of the file
    what = f"{subject.where('group.id')}: group {name}"
    try:
        group = reached.admin.group(name)
    except AdminError as problem:
        said = f"authorization: the group cannot be looked at: {problem.words} ({problem.code})."
        yield error(what, said, "Grant READ on the group to the worker's user.", UNREACHABLE)
        return
    yield judged(what, name, group, subject.worker.config["connect.protocol"] or "sessioned")


def judged(what: str, name: str, group: Group | None, protocol: str) -> Finding:
    """The findings about a group for a worker. `protocol` is its own connect.protocol."""
    if group is None:
        return ok(what, "it does not exist: this worker would be its first member.")
    if group.rights is not None and "READ" not in group.rights:
        said = "authorization: the worker's user may not READ it, which joining takes."
        return error(what, said, "Grant READ on the group to the worker's user.", UNREACHABLE)
    if group.kind not in {_WORKERS, ""}:
        if group.members or group.state not in _DEAD:
            said = f"it is a group of another kind ({group.kind}), with {counted(len(group.members), 'member')}."
            return error(what, said, "Choose another group.id.", INVALID)
        said = f"it has been a group of another kind ({group.kind}), and has no members now."
        return warning(
            what, said, f"Choose another group.id, or delete it: kafka-consumer-groups --delete --group {name}"
        )
    if not group.members:
        return ok(what, f"it has no members now ({group.state}).")
    members = f"{counted(len(group.members), 'worker')}, on {', '.join(sorted({each.host for each in group.members}))}"
    offered = PROTOCOLS.get(protocol, (group.protocol,))
    if group.protocol and group.protocol not in offered:
        said = (
            f"{members}, with protocol {group.protocol};"
            f" this worker, with connect.protocol={protocol}, has all of them change."
        )
        return warning(what, said, "Set connect.protocol as they have it.")
    if group.protocol and group.protocol != offered[0]:
        said = f"{members}, with protocol {group.protocol}, as one of them knows no better; so would this worker."
        return note(what, said, f"Set connect.protocol={protocol} on all workers.")
    return ok(what, f"{members}{f', with protocol {group.protocol}' if group.protocol else ''}.")
