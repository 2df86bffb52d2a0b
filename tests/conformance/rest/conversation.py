"""One long conversation with a worker's REST API, as data: every operation, its successes and its errors.

In paths and bodies {folder}, {topic} and {side} stand for what differs between two workers; answers have them back.
"""

from dataclasses import dataclass, field
from typing import Any

JSON = "application/json"


@dataclass(frozen=True)
class Ask:
    """A request. `body` is sent as JSON, text as it is. `content` is its type; None sends none."""

    name: str
    method: str
    path: str
    body: Any = None
    content: str | None = JSON
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wait:
    """Ask again until the answer has this value at this place (a list of keys and indexes)."""

    path: str
    place: tuple[str | int, ...]
    value: Any


Step = Ask | Wait

SOURCE = {"connector.class": "FileStreamSource", "file": "{folder}/in.txt", "topic": "{topic}", "tasks.max": "1"}
SINK = {
    "connector.class": "FileStreamSink",
    "file": "{folder}/out.txt",
    "topics": "{topic}",
    "consumer.override.group.id": "{side}",
}
GROUPS = "topic.creation.groups"
CREATION = {
    GROUPS: "a",
    "topic.creation.default.replication.factor": "1",
    "topic.creation.default.partitions": "3",
    "topic.creation.a.include": "a.*,b",
    "topic.creation.a.cleanup.policy": "compact",
}
FULL = "org.apache.kafka.connect.file.FileStreamSourceConnector"
PLACE = {"kafka_topic": "{topic}", "kafka_partition": 0}


def get(name: str, path: str, **headers: str) -> Ask:
    return Ask(name, "GET", path, headers={key.replace("_", "-"): value for key, value in headers.items()})


def state(connector: str, state: str, tasks: int | None = None) -> list[Step]:
    """Wait until a connector, and so many of its tasks, are in a state.

    The newest task is waited for first: those before it are restarted when it comes.
    """
    path = f"/connectors/{connector}/status"
    waits: list[Step] = [Wait(path, ("connector", "state"), state)]
    waits += [Wait(path, ("tasks", number, "state"), state) for number in reversed(range(tasks or 0))]
    return waits


def source_offset(offset: Any, partition: Any = None) -> dict[str, Any]:
    return {"offsets": [{"partition": partition or {"filename": "{folder}/in.txt"}, "offset": offset}]}


def sink_offset(offset: Any, partition: Any = PLACE) -> dict[str, Any]:
    return {"offsets": [{"partition": partition, "offset": offset}]}


ROOT: list[Step] = [
    get("root", "/"),
    get("health", "/health"),
    get("nothing yet", "/connectors"),
    get("unknown path", "/nope"),
    Ask("wrong method on root", "POST", "/"),
    Ask("wrong method", "DELETE", "/connectors"),
    Ask("unknown method", "FOO", "/connectors"),
    Ask("wrong method before wrong type", "PUT", "/connectors", content="text/plain", body="x"),
    get("slash at the end", "/connectors/"),
    get("other case", "/Connectors"),
    Ask("head", "HEAD", "/connectors"),
    Ask("head of nothing", "HEAD", "/connectors/nope"),
    Ask("options", "OPTIONS", "/connectors"),
    Ask("options of nothing", "OPTIONS", "/nope"),
]

TYPES: list[Step] = [
    *(
        Ask(f"get with content type {kind}", "GET", "/connectors", headers={"Content-Type": kind})
        for kind in ("text/plain", "application/json; charset=utf-8", "application/*", "text/json", "APPLICATION/JSON")
    ),
    *(
        Ask(f"pause with content type {kind}", "PUT", "/connectors/nope/pause", "{}", kind)
        for kind in ("application/x-www-form-urlencoded", "text/plain", "application/vnd.api+json", JSON)
    ),
    Ask("pause without a body with a form's type", "PUT", "/connectors/nope/pause", content="text/plain", body=""),
    Ask("delete with a wrong type", "DELETE", "/connectors/nope", "x", "text/plain"),
    Ask("put a config without a type", "PUT", "/connectors/nope/config", "x", None),
    Ask("restart with a body without a type", "POST", "/connectors/nope/restart", "x", None),
    get("wrong type at an unknown path", "/nope", Content_Type="text/plain"),
    *(
        get(f"accept {kind}", "/connectors", Accept=kind)
        for kind in ("text/html", "text/html, */*;q=0.1", "application/json;q=0.5", "application/*", "bogus", "")
    ),
    get("accept no json of a connector that is unknown", "/connectors/nope", Accept="text/html"),
]

UNKNOWN: list[Step] = [
    *(
        get(f"unknown connector: {what or 'info'}", f"/connectors/nope{what}")
        for what in ("", "/config", "/status", "/tasks", "/topics", "/offsets", "/tasks/0/status")
    ),
    *(
        Ask(f"unknown connector: {method} {what}", method, f"/connectors/nope{what}")
        for method, what in (
            ("DELETE", ""),
            ("PUT", "/pause"),
            ("PUT", "/resume"),
            ("PUT", "/stop"),
            ("POST", "/restart"),
            ("POST", "/restart?includeTasks=true"),
            ("POST", "/tasks/0/restart"),
            ("PUT", "/topics/reset"),
            ("DELETE", "/offsets"),
        )
    ),
    Ask("unknown connector: patch", "PATCH", "/connectors/nope/config", {"a": "b"}),
    Ask("unknown connector: alter offsets", "PATCH", "/connectors/nope/offsets", source_offset({"position": 1})),
    get("a task that is not a number", "/connectors/nope/tasks/x/status"),
    get("a task below zero", "/connectors/nope/tasks/-1/status"),
    get("a task too big", "/connectors/nope/tasks/99999999999/status"),
]

WRONG: list[Step] = [
    *(Ask(f"create from {body or 'nothing'}", "POST", "/connectors", body) for body in ("", "{", "[]", "{}", "null")),
    Ask("create without a config", "POST", "/connectors", {"name": "a"}),
    Ask("create with an empty config", "POST", "/connectors", {"name": "a", "config": {}}),
    Ask("create without a name", "POST", "/connectors", {"name": "", "config": SOURCE}),
    Ask("create with two names", "POST", "/connectors", {"name": " a ", "config": {**SOURCE, "name": "c"}}),
    Ask("create in a wrong state", "POST", "/connectors", {"name": "a", "config": SOURCE, "initial_state": "WRONG"}),
    Ask("create with an unknown field", "POST", "/connectors", {"name": "a", "config": SOURCE, "x": 1}),
    Ask("create from text", "POST", "/connectors", {"name": "a", "config": SOURCE}, "text/plain"),
    Ask("create without a type", "POST", "/connectors", '{"name": "a"}', None),
    Ask("create of an unknown class", "POST", "/connectors", {"name": "a", "config": {"connector.class": "Nope"}}),
    Ask("create with a wrong number", "POST", "/connectors", {"name": "a", "config": {**SOURCE, "tasks.max": "x"}}),
    Ask("create with null", "POST", "/connectors", {"name": "a", "config": {**SOURCE, "none": None}}),
    Ask("create with an object", "POST", "/connectors", {"name": "a", "config": {**SOURCE, "nested": {"a": 1}}}),
    Ask(
        "create with a wrong word", "POST", "/connectors", {"name": "a", "config": {**SOURCE, "errors.tolerance": "b"}}
    ),
]

LIFE: list[Step] = [
    Ask(
        "create",
        "POST",
        "/connectors",
        {"name": " src ", "config": {**SOURCE, "number": 3, "flag": True, "half": 1.5, "big": 12345678901234567890}},
    ),
    Ask("create again", "POST", "/connectors", {"name": "src", "config": SOURCE}),
    *state("src", "RUNNING", tasks=1),
    get("info", "/connectors/src"),
    get("info with a slash", "/connectors/src/"),
    get("config", "/connectors/src/config"),
    get("tasks", "/connectors/src/tasks"),
    get("status", "/connectors/src/status"),
    get("task status", "/connectors/src/tasks/0/status"),
    get("status of no task", "/connectors/src/tasks/1/status"),
    get("tasks-config is gone", "/connectors/src/tasks-config"),
    get("expand status", "/connectors?expand=status"),
    get("expand info and status", "/connectors?expand=info&expand=status"),
    get("expand something else", "/connectors?expand=nope"),
    get("expand with a comma", "/connectors?expand=info,status"),
    Ask("wrong method on a connector", "PUT", "/connectors/src"),
    Wait("/connectors/src/topics", ("src", "topics"), ["{topic}"]),
    get("topics", "/connectors/src/topics"),
    Ask("pause", "PUT", "/connectors/src/pause"),
    *state("src", "PAUSED", tasks=1),
    get("status of a paused one", "/connectors/src/status"),
    Ask("pause again", "PUT", "/connectors/src/pause"),
    Ask("resume", "PUT", "/connectors/src/resume"),
    *state("src", "RUNNING", tasks=1),
    Ask("restart", "POST", "/connectors/src/restart"),
    *state("src", "RUNNING", tasks=1),
    Ask("restart what failed", "POST", "/connectors/src/restart?includeTasks=true&onlyFailed=true"),
    Ask("restart if it failed", "POST", "/connectors/src/restart?onlyFailed=true"),
    Ask("restart all", "POST", "/connectors/src/restart?includeTasks=true"),
    *state("src", "RUNNING", tasks=1),
    Ask("restart maybe", "POST", "/connectors/src/restart?includeTasks=maybe"),
    *state("src", "RUNNING", tasks=1),
    Ask("restart a task", "POST", "/connectors/src/tasks/0/restart"),
    *state("src", "RUNNING", tasks=1),
    Ask("restart a task that is not a number", "POST", "/connectors/src/tasks/x/restart"),
    Ask("put the config", "PUT", "/connectors/src/config", SOURCE),
    Ask("put nothing", "PUT", "/connectors/src/config", ""),
    Ask("put null", "PUT", "/connectors/src/config", "null"),
    Ask("put half an object", "PUT", "/connectors/src/config", '{"a":'),
    Ask("put an empty config", "PUT", "/connectors/src/config", {}),
    Ask("put another name", "PUT", "/connectors/src/config", {**SOURCE, "name": "other"}),
    Ask("forward", "PUT", "/connectors/src/config?forward=false", SOURCE),
    *state("src", "RUNNING", tasks=1),
    Ask("patch", "PATCH", "/connectors/src/config", {"batch.size": "10", "more": "1"}),
    Ask("patch one away", "PATCH", "/connectors/src/config", {"more": None}),
    Ask("patch a needed one away", "PATCH", "/connectors/src/config", {"topic": None}),
    Ask("patch with a list", "PATCH", "/connectors/src/config", "[]"),
    Ask("patch with nothing", "PATCH", "/connectors/src/config", ""),
    *state("src", "RUNNING", tasks=1),
    get("config after patches", "/connectors/src/config"),
]

OFFSETS: list[Step] = [
    Wait("/connectors/src/offsets", ("offsets", 0, "offset", "position"), 790),
    get("offsets", "/connectors/src/offsets"),
    Ask("alter while it runs", "PATCH", "/connectors/src/offsets", source_offset({"position": 1})),
    Ask("reset while it runs", "DELETE", "/connectors/src/offsets"),
    Ask("stop", "PUT", "/connectors/src/stop"),
    *state("src", "STOPPED"),
    Wait("/connectors/src/tasks", (), []),
    Wait("/connectors/src/status", ("tasks",), []),
    get("status of a stopped one", "/connectors/src/status"),
    get("info of a stopped one", "/connectors/src"),
    get("offsets of a stopped one", "/connectors/src/offsets"),
    *(
        Ask(f"alter with {body or 'nothing'}", "PATCH", "/connectors/src/offsets", body)
        for body in ("", "{}", "[]", '{"offsets": []}', '{"offsets": null}', '{"offsets": "x"}', '{"x": 1}')
    ),
    Ask("alter a wrong partition", "PATCH", "/connectors/src/offsets", source_offset({"position": 1}, {"f": "x"})),
    Ask(
        "alter with a partition inside of a partition",
        "PATCH",
        "/connectors/src/offsets",
        source_offset({"position": 1}, {"filename": {"name": "{folder}/in.txt"}}),
    ),
    Ask("alter to a wrong offset", "PATCH", "/connectors/src/offsets", source_offset({"position": "a"})),
    Ask("alter to a negative offset", "PATCH", "/connectors/src/offsets", source_offset({"position": -1})),
    Ask("alter", "PATCH", "/connectors/src/offsets", source_offset({"position": 7})),
    get("offsets after the change", "/connectors/src/offsets"),
    Ask("alter to null", "PATCH", "/connectors/src/offsets", source_offset(None)),
    # Java's may list a partition that it knows of and find, when it has read on, that it has no offset any more.
    Wait("/connectors/src/offsets", ("offsets",), []),
    get("offsets after null", "/connectors/src/offsets"),
    Ask("reset", "DELETE", "/connectors/src/offsets"),
    get("offsets after the reset", "/connectors/src/offsets"),
    Ask("reset again", "DELETE", "/connectors/src/offsets"),
    Ask("restart a stopped one", "POST", "/connectors/src/restart"),
    *state("src", "STOPPED"),
    Ask("resume from a stop", "PUT", "/connectors/src/resume"),
    *state("src", "RUNNING", tasks=1),
    get("tasks after a stop", "/connectors/src/tasks"),
]

SINKS: list[Step] = [
    Ask("create by put", "PUT", "/connectors/sink/config", SINK),
    *state("sink", "RUNNING", tasks=1),
    get("info of a sink", "/connectors/sink"),
    Wait("/connectors/sink/topics", ("sink", "topics"), ["{topic}"]),
    Wait("/connectors/sink/offsets", ("offsets", 0, "partition", "kafka_topic"), "{topic}"),
    Ask("alter a sink while it runs", "PATCH", "/connectors/sink/offsets", sink_offset({"kafka_offset": 5})),
    Ask("stop a sink", "PUT", "/connectors/sink/stop"),
    *state("sink", "STOPPED"),
    Wait("/connectors/sink/tasks", (), []),
    Wait("/connectors/sink/status", ("tasks",), []),
    *(
        Ask(f"alter a sink: {name}", "PATCH", "/connectors/sink/offsets", sink_offset(offset, partition))
        for name, offset, partition in (
            ("an offset that is not a number", {"kafka_offset": "x"}, PLACE),
            ("an offset below zero", {"kafka_offset": -2}, PLACE),
            ("no offset", {"x": 1}, PLACE),
            ("a null in the offset", {"kafka_offset": None}, PLACE),
            ("no partition", {"kafka_offset": 1}, {"kafka_topic": "{topic}"}),
            ("no topic", {"kafka_offset": 1}, {"kafka_partition": 0}),
            ("a null topic", None, {"kafka_topic": None, "kafka_partition": 0}),
            ("a partition that is not a number", None, {"kafka_topic": "{topic}", "kafka_partition": "a"}),
            ("null", None, None),
            ("an unknown topic", {"kafka_offset": 1}, {"kafka_topic": "no-{topic}", "kafka_partition": 0}),
            ("an unknown partition", {"kafka_offset": 1}, {"kafka_topic": "{topic}", "kafka_partition": 9}),
        )
    ),
    Ask("alter a sink", "PATCH", "/connectors/sink/offsets", sink_offset({"kafka_offset": 5})),
    get("offsets of a sink", "/connectors/sink/offsets"),
    Ask(
        "alter a sink with text",
        "PATCH",
        "/connectors/sink/offsets",
        sink_offset({"kafka_offset": "6"}, {"kafka_topic": "{topic}", "kafka_partition": "0"}),
    ),
    get("offsets of a sink after text", "/connectors/sink/offsets"),
    Ask("forget a sink's offset", "PATCH", "/connectors/sink/offsets", sink_offset(None)),
    get("offsets of a sink after null", "/connectors/sink/offsets"),
    Ask("alter a sink again", "PATCH", "/connectors/sink/offsets", sink_offset({"kafka_offset": 3})),
    Ask("reset a sink", "DELETE", "/connectors/sink/offsets"),
    get("offsets of a sink after the reset", "/connectors/sink/offsets"),
    Ask("reset a sink again", "DELETE", "/connectors/sink/offsets"),
    Ask("a sink becomes a source", "PUT", "/connectors/sink/config", {**SOURCE, "file": "{folder}/none.txt"}),
    get("info of what was a sink", "/connectors/sink"),
    Ask("create a wide one", "PUT", "/connectors/wide/config", SINK),
    *state("wide", "RUNNING", tasks=1),
    Ask("more tasks", "PATCH", "/connectors/wide/config", {"tasks.max": "2"}),
    *state("wide", "RUNNING", tasks=2),
    get("tasks of a sink", "/connectors/wide/tasks"),
    get("status of a sink", "/connectors/wide/status"),
    Ask("delete a wide one", "DELETE", "/connectors/wide"),
]

STATES: list[Step] = [
    Ask("create stopped", "POST", "/connectors", {"name": "born", "config": SOURCE, "initial_state": "stopped"}),
    *state("born", "STOPPED"),
    get("status of one that was created stopped", "/connectors/born/status"),
    get("offsets of one that never ran", "/connectors/born/offsets"),
    Ask("alter one that never ran", "PATCH", "/connectors/born/offsets", source_offset({"position": 7})),
    Ask("pause a stopped one", "PUT", "/connectors/born/pause"),
    *state("born", "PAUSED"),
    Ask("delete a paused one", "DELETE", "/connectors/born"),
    get("a deleted one", "/connectors/born"),
    Ask(
        "a name with blanks",
        "PUT",
        "/connectors/two%20words+one/config",
        {**SOURCE, "file": "{folder}/none.txt"},
    ),
    *state("two%20words+one", "RUNNING", tasks=1),
    get("the one with blanks", "/connectors/two%20words+one"),
    Ask("delete the one with blanks", "DELETE", "/connectors/two%20words+one"),
]

TOPICS: list[Step] = [
    Ask("reset topics", "PUT", "/connectors/sink/topics/reset"),
    Wait("/connectors/sink/topics", ("sink", "topics"), []),
    get("topics after the reset", "/connectors/sink/topics"),
]

PLUGINS: list[Step] = [
    get("plugins", "/connector-plugins"),
    get("all plugins", "/connector-plugins?connectorsOnly=false"),
    get("connectorsOnly is not a boolean", "/connector-plugins?connectorsOnly=x"),
    get("settings of a source", "/connector-plugins/FileStreamSource/config"),
    get("settings of a sink", "/connector-plugins/FileStreamSinkConnector/config"),
    get("settings of a converter", "/connector-plugins/org.apache.kafka.connect.json.JsonConverter/config"),
    get("settings of no plugin", "/connector-plugins/Nope/config"),
    get("settings of another version", "/connector-plugins/FileStreamSource/config?version=9.9"),
    get("settings of the latest version", "/connector-plugins/FileStreamSource/config?version=latest"),
    *(
        Ask(f"validate {name}", "PUT", f"/connector-plugins/{plugin}/config/validate", body)
        for name, plugin, body in (
            ("what is right", "FileStreamSource", {**SOURCE, "name": "v"}),
            ("a wrong number", "FileStreamSource", {**SOURCE, "name": "v", "tasks.max": "x"}),
            ("a missing topic", "FileStreamSource", {"connector.class": "FileStreamSource", "name": "v"}),
            ("a sink", "FileStreamSink", {**SINK, "name": "v"}),
            ("a sink without topics", "FileStreamSink", {"connector.class": "FileStreamSink", "name": "v"}),
            ("another class", "FileStreamSource", SINK),
            ("the full name of an alias", "FileStreamSource", {**SOURCE, "name": "v", "connector.class": FULL}),
            ("no class", "FileStreamSource", {"topic": "x"}),
            ("an unknown class", "Nope", {"connector.class": "Nope"}),
            ("nothing", "FileStreamSource", ""),
            ("topic creation", "FileStreamSource", {**SOURCE, "name": "v", **CREATION}),
            ("topic creation of twice a group", "FileStreamSource", {**SOURCE, "name": "v", **CREATION, GROUPS: "a,a"}),
            ("topic creation without a default", "FileStreamSource", {**SOURCE, "name": "v", GROUPS: "a"}),
        )
    ),
]

LOGGERS: list[Step] = [
    Ask("a level that is missing", "PUT", "/admin/loggers/x.y", {}),
    Ask("a level from nothing", "PUT", "/admin/loggers/x.y", ""),
    Ask("wrong method on loggers", "POST", "/admin/loggers", {}),
]

INTERNAL: list[Step] = [
    Ask("internal: task configurations", "POST", "/connectors/src/tasks", [{}]),
    Ask("internal: fence", "PUT", "/connectors/src/fence"),
    get("internal: wrong method", "/connectors/src/fence"),
]

THE_END: list[Step] = [
    Ask("delete a source", "DELETE", "/connectors/src"),
    Ask("delete a sink", "DELETE", "/connectors/sink"),
    get("nothing any more", "/connectors"),
]

CONVERSATION: list[Step] = [
    *ROOT,
    *TYPES,
    *UNKNOWN,
    *WRONG,
    *LIFE,
    *OFFSETS,
    *SINKS,
    *STATES,
    *TOPICS,
    *PLUGINS,
    *LOGGERS,
    *INTERNAL,
    *THE_END,
]
