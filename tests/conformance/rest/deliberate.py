"""Where we differ from Kafka Connect on purpose, and why. Whatever is not in this list is a failure."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from connect import __version__

from .talk import MISSING

CODE = r"status|body\.error_code"
ERROR = r"status|body\.(error_code|message)"


@dataclass(frozen=True)
class Difference:
    """One reason, and where it shows: patterns of the request's name and of the place in the answer.

    `when` looks at both values, ours first.
    """

    reason: str
    asks: str
    places: str
    when: Callable[[Any, Any], bool] = lambda ours, theirs: True

    def covers(self, name: str, place: str, ours: Any, theirs: Any) -> bool:
        return bool(re.fullmatch(self.asks, name) and re.fullmatch(self.places, place) and self.when(ours, theirs))


_BODY = "The request has no body"
_OBJECT = "The request is not a JSON object"
_CONFIG = '"config" is missing'
#: What is wrong is said in our words; Kafka Connect names errors of Java, and prints the whole configuration, secrets
#: too, where its class is missing. For each request what ours have to tell: the key at fault, else the cause.
OUR_WORDS = {
    **dict.fromkeys(("create from nothing", "put nothing", "patch with nothing", "alter with nothing"), _BODY),
    **dict.fromkeys(("validate nothing", "a level from nothing"), _BODY),
    **dict.fromkeys(("create from []", "create from null", "put null", "patch with a list", "alter with []"), _OBJECT),
    **dict.fromkeys(("create from {", "put half an object"), r"The request is not JSON: .*line 1"),
    **dict.fromkeys(("create from {}", "create without a config"), _CONFIG),
    "create with an empty config": '"a".* Set connector.class',
    "put an empty config": '"src".* Set connector.class',
    "create without a name": r" 1 error.*\bname: must not be empty",
    "create in a wrong state": '"initial_state" is WRONG. Write RUNNING, PAUSED or STOPPED',
    "create with an unknown field": 'unknown field "x"',
    "create of an unknown class": r" 1 error.*\bconnector.class: .*\"Nope\"",
    "create with a wrong number": r" 1 error.*\btasks.max: \"x\" is not a whole number",
    "create with null": r"Null value .*\bnone\b",
    "create with an object": '"nested" is not text',
    "create with a wrong word": r" 1 error.*\berrors.tolerance: \"b\" is not one of none, all",
    "patch a needed one away": r" 1 error.*\btopic: is required",
    'alter with {"offsets": "x"}': '"offsets" is not a list',
    'alter with {"x": 1}': 'unknown field "x"',
    "alter a wrong partition": '"filename"',
    "alter with a partition inside of a partition": '"filename"',
    "alter to a wrong offset": '"position"',
    "alter to a negative offset": '"position"',
    "alter a sink: an offset below zero": "-2 is below 0",
    "settings of no plugin": "Unknown plugin Nope",
    "settings of another version": '"FileStreamSource" .* not in 9.9',
}


def _tells(pattern: str) -> Callable[[Any, Any], bool]:
    return lambda ours, theirs: isinstance(ours, str) and bool(re.search(pattern, ours, re.DOTALL))


def _not_the_workers_fault(ours: Any, theirs: Any) -> bool:
    return (ours, theirs) == (400, 500)


COMMON = [
    Difference("It is another program", "root", r"body\.commit"),
    Difference("Methods are in order of the alphabet", "options", "body", lambda o, t: sorted(o) == sorted(t)),
    Difference(
        "A request that makes no sense is 400 and says why; Kafka Connect answers 500 with an error of Java",
        r"(create|put|patch|alter|validate|a level) (from|with|in|nothing|null|half|without).*",
        CODE,
        _not_the_workers_fault,
    ),
    *(
        Difference(f"Said in our words: {name}", re.escape(name), r"body\.message", _tells(pattern))
        for name, pattern in OUR_WORDS.items()
    ),
    Difference(
        "Partitions and offsets that a connector refuses are the user's error, not the worker's",
        r"alter (a wrong partition|with a partition inside .*|to a (wrong|negative) offset)"
        r"|alter a sink: an offset below zero",
        CODE,
        _not_the_workers_fault,
    ),
    Difference(
        "Says what the broker said", r"alter a sink: an unknown .*", r"body\.message", lambda o, t: o.startswith(t)
    ),
    Difference(
        "Our file source finds a file again that was renamed",
        r"offsets.*",
        r"body\.offsets\[0\]\.offset\.(inode|head)",
        lambda ours, theirs: theirs is MISSING,
    ),
    Difference(
        "Plug-ins that come with the runtime have its version",
        ".*",
        r".*(version|\.(value|default_value|recommended_values\[0\]))",
        lambda ours, theirs: (ours, theirs) == (__version__, "4.3.1"),
    ),
    Difference(
        "Plug-ins come with the runtime that Kafka Connect has not: connectors of databases, for example",
        "validate .*|.*plugins|connectorsOnly is not a boolean",
        r"body\.(source|sink|converter|transformation) .*|.*\.recommended_values\.[\w.$]+",
        lambda ours, theirs: theirs is MISSING,
    ),
    Difference(
        "Keys without effect are warned about; Kafka Connect says nothing",
        "validate .*",
        r"body\.warnings.*",
        lambda ours, theirs: theirs is MISSING,
    ),
    Difference("Documentation is ours", "(settings|validate) .*", r".*\.documentation"),
    Difference(
        "Our file connectors have more settings, in groups; forms show them",
        "(settings of (a source|a sink|the latest).*|validate .*)",
        r"body(\.configs)?\.(file|topic|batch\.size)(\.definition)?\.(group|order_in_group|width|display_name)"
        r"|body\.groups\[\d+\]",
    ),
    Difference(
        "Our file connectors have more settings",
        "(settings of (a source|a sink|the latest).*|validate .*)",
        r"body(\.configs)?\.[a-z.]+",
        lambda ours, theirs: theirs is MISSING,
    ),
    Difference(
        "Converters' settings are in no groups",
        "settings of a converter",
        r".*\.(group|order_in_group|width|display_name)",
    ),
    Difference(
        "A converter is told its type, it is not a setting", "settings of a converter", r"body\.converter\.type"
    ),
    Difference(
        "An error is said once, with the value that is wrong",
        "validate a (wrong number|missing topic|sink without topics)",
        r"body\.(error_count|configs\.(tasks\.max|topic|topics|topics\.regex)\.value\.(value|errors\[\d\]))",
    ),
    Difference(
        "Overrides of client settings are checked like the others, but only those at fault are listed",
        "validate a sink",
        r"body\.configs\.consumer\.override\.group\.id",
    ),
    Difference(
        "The keys of topic creation's groups are listed and checked; Kafka Connect looks at them at its start",
        "validate topic creation.*",
        r"body\.(error_count|groups\[\d+\]|configs\.topic\.creation\.(default|a)\..*)",
        lambda ours, theirs: theirs is MISSING or (ours, theirs) == (2, 0),
    ),
    Difference(
        "An error is said in our words",
        "validate topic creation of twice a group",
        r"body\.configs\.topic\.creation\.groups\.value\.errors\[0\]",
    ),
    Difference(
        "Validation answers 200, whatever is wrong with a configuration: forms need not fill in all at once",
        "validate (no class|an unknown class)",
        r"status|body\..*",
        lambda ours, theirs: ours is MISSING or theirs is MISSING or (ours, theirs) == (200, 500),
    ),
]

STANDALONE = [
    Difference(
        "404, as in Kafka Connect's own distributed mode; its standalone mode answers 500",
        r"unknown connector: .*|restart with a body without a type",
        ERROR,
        lambda ours, theirs: (ours, theirs) == (404, 500) or isinstance(ours, str),
    ),
    Difference(
        "What workers ask of each other is not there where there is one worker; Kafka Connect answers 500",
        "internal: .*",
        ERROR,
        lambda ours, theirs: (ours, theirs) in {(405, 500), (404, 500), (404, 405)} or isinstance(ours, str),
    ),
]


def deliberate(mode: str) -> list[Difference]:
    """The differences in this mode."""
    return [*COMMON, *(STANDALONE if mode == "standalone" else [])]
