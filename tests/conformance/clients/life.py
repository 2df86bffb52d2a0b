"""The life of a connector in the words of clients: what each is asked to do, in order, and what is waited for between.

{folder} and {topic} stand for what differs between two workers. Not every client can do everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.rest.conversation import SOURCE, Ask, Wait

PLUGIN = "FileStreamSource"
WRONG = {"connector.class": PLUGIN, "file": "{folder}/in.txt", "tasks.max": "many"}
MORE = {**SOURCE, "batch.size": "10"}
POSITION = [{"partition": {"filename": "{folder}/in.txt"}, "offset": {"position": 7}}]


@dataclass(frozen=True)
class Do:
    """An operation.

    Attributes:
        operation: what the programs that drive clients know it by.
        more: what it takes.
        told: names it in the account, where it is asked for several times.
        then: what is waited for afterwards, when it was done.
        otherwise: what is asked in place of a client that cannot do it, because what follows needs it.
    """

    operation: str
    more: dict[str, Any] = field(default_factory=dict)
    told: str = ""
    then: Sequence[Wait] = ()
    otherwise: Ask | None = None

    @property
    def name(self) -> str:
        return self.told or self.operation

    @property
    def ask(self) -> dict[str, Any]:
        return {"do": self.operation, **self.more}


def waits(name: str, state: str, tasks: int = 1) -> list[Wait]:
    """For a connector and so many tasks, and no others, to be in a state."""
    path = f"/connectors/{name}/status"
    found = [Wait(path, ("connector", "state"), state)]
    found += [Wait(path, ("tasks", number, "state"), state) for number in reversed(range(tasks))]
    return found if tasks else [*found, Wait(path, ("tasks",), []), Wait(f"/connectors/{name}/tasks", (), [])]


def life(name: str) -> list[Do]:
    """The life of a connector of this name."""
    running, one = waits(name, "RUNNING"), {"name": name}
    read = [
        Wait(f"/connectors/{name}/topics", (name, "topics"), ["{topic}"]),
        Wait(f"/connectors/{name}/offsets", ("offsets", 0, "offset", "position"), 790),
    ]
    return [
        Do("version"),
        Do("plugins"),
        Do("all plugins"),
        Do("list", told="list of none"),
        Do("validate", {"plugin": PLUGIN, "config": {**SOURCE, **one}}),
        Do("validate", {"plugin": PLUGIN, "config": {**WRONG, **one}}, "validate what is wrong"),
        Do("validate", {"plugin": "FileStreamSink", "config": SOURCE}, "validate as another"),
        *(
            Do(operation, {"name": "nope", "task": 0}, f"{operation} of none")
            for operation in (
                *("info", "config", "status", "tasks", "task status", "topics", "exists", "offsets"),
                *("pause", "resume", "stop", "restart", "restart all", "restart task", "delete"),
            )
        ),
        Do("create", {**one, "config": WRONG}, "create from what is wrong"),
        Do("create", {**one, "config": SOURCE}, then=[*running, *read]),
        Do("create", {**one, "config": SOURCE}, "create again"),
        *(
            Do(operation, {**one, "task": 0})
            for operation in (
                *("exists", "list", "list with info", "list with status", "list with all", "list by pattern"),
                *("info", "config", "status", "tasks", "task status", "topics"),
            )
        ),
        Do("reset topics", one, then=[Wait(f"/connectors/{name}/topics", (name, "topics"), [])]),
        Do("topics", one, "topics after the reset"),
        Do("put", {**one, "config": WRONG}, "put what is wrong"),
        Do("put", {**one, "config": MORE}, then=running),
        Do("config", one, "config after put"),
        Do("pause", one, then=waits(name, "PAUSED")),
        Do("status", one, "status after pause"),
        Do("resume", one, then=running),
        Do("restart", one, then=running),
        Do("restart all", one, then=running),
        Do("restart failed", one, then=running),
        Do("restart task", {**one, "task": 0}, then=running),
        Do("restart task", {**one, "task": 1}, "restart another task"),
        Do("alter offsets", {**one, "offsets": POSITION}, "alter offsets while it runs"),
        Do("stop", one, then=waits(name, "STOPPED", tasks=0), otherwise=Ask("stop", "PUT", f"/connectors/{name}/stop")),
        Do("offsets", one),
        Do("alter offsets", {**one, "offsets": POSITION}),
        Do("offsets", one, "offsets that were altered"),
        # Java's may list a partition that it knows of and find, when it has read on, that it has no offset any more.
        Do("reset offsets", one, then=[Wait(f"/connectors/{name}/offsets", ("offsets",), [])]),
        Do("offsets", one, "offsets that were reset"),
        Do("set level", {"level": "WARN"}),
        Do("wrong level"),
        Do("delete", one),
        Do("info", one, "info of a deleted one"),
        Do("delete", one, "delete again"),
        Do("list", told="list after all"),
    ]
