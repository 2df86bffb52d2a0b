"""Holds a conversation with a worker, and compares what two workers said."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.support.rest import parsed, send
from tests.support.waiting import until

from .conversation import Ask, Step, Wait

PATIENCE = 60.0


@dataclass(frozen=True)
class Answer:
    """What a worker said: `body` parsed where it is JSON."""

    status: int
    location: str | None
    body: Any


@dataclass(frozen=True)
class Party:
    """A worker: its port, and what stands for {folder}, {topic} and {side}."""

    side: str
    port: int
    folder: Path
    topic: str

    def talk(self, steps: Sequence[Step]) -> dict[str, Answer]:
        """Hold the conversation. Returns the answers by the names of the requests."""
        answers = {}
        for step in steps:
            if isinstance(step, Wait):
                self.wait(step)
            else:
                assert step.name not in answers, step.name
                answers[step.name] = self.ask(step)
        return answers

    def wait(self, wait: Wait) -> None:
        """Ask again until it is so."""
        said: list[Answer] = []

        def is_so() -> bool:
            said[:] = [self.ask(Ask("wait", "GET", wait.path))]
            found = said[0].body
            try:
                for key in wait.place:
                    found = found[key]
            except (KeyError, IndexError, TypeError):
                found = None
            return said[0].status == 200 and bool(found == wait.value)

        until(is_so, PATIENCE, lambda: f"{self.side}: {wait}: {said}", every=0.05)

    def ask(self, ask: Ask) -> Answer:
        """Ask, again while the group is busy with itself."""
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._ask_once(ask)
            if answer.status != 409 or "already exists" in answer.body["message"] or time.monotonic() > deadline:
                return answer
            time.sleep(0.1)

    def _ask_once(self, ask: Ask) -> Answer:
        body = ask.body if ask.body is None or isinstance(ask.body, str) else json.dumps(ask.body)
        headers = dict(ask.headers)
        if body is not None and ask.content is not None:
            headers["Content-Type"] = ask.content
        connection = HTTPConnection("127.0.0.1", self.port, timeout=100)
        got = send(connection, ask.method, self.theirs(ask.path), None if body is None else self.theirs(body), headers)
        location = got.headers["Location"]
        return Answer(got.status, location and self.common(location), parsed(self.common(got.content.decode())))

    def theirs(self, text: str) -> str:
        """A text with what stands here for {folder}, {topic} and {side}."""
        return text.replace("{folder}", str(self.folder)).replace("{topic}", self.topic).replace("{side}", self.side)

    def common(self, text: str) -> str:
        """The reverse of `theirs`."""
        for mine, common in (
            (str(self.folder), "{folder}"),
            (self.topic, "{topic}"),
            (f'"{self.side}"', '"{side}"'),
            (f"127.0.0.1:{self.port}", "{worker}"),
        ):
            text = text.replace(mine, common)
        return text


_CLASS = re.compile(r"[a-z_]\w*(\.[\w$]+)+")


def by_name(said: Any) -> Any:
    """What a worker said, with maps in the place of lists of keys and plug-ins, because their order says nothing."""
    if isinstance(said, Answer):
        return Answer(said.status, said.location, by_name(said.body))
    if isinstance(said, dict):
        return {key: by_name(value) for key, value in said.items()}
    if isinstance(said, list) and said and all(isinstance(item, str) and _CLASS.fullmatch(item) for item in said):
        return {item: item for item in said}
    if not isinstance(said, list) or not said or not all(isinstance(item, dict) for item in said):
        return said
    for key in ("class", "className"):  # the latter in what a client of Java makes of it
        if all(key in item and "type" in item for item in said):
            return {f"{item['type']} {item[key]}": item for item in said}
    if all("value" in item and "definition" in item for item in said):
        return {item["value"]["name"]: by_name(item) for item in said}
    if all("display_name" in item for item in said):
        return {item["name"]: item for item in said}
    return said


def differences(ours: Any, theirs: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each place at which two answers differ, with what stands there."""
    if isinstance(ours, Answer) and isinstance(theirs, Answer):
        yield from differences(ours.status, theirs.status, "status")
        yield from differences(ours.location, theirs.location, "location")
        yield from differences(ours.body, theirs.body, "body")
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*theirs, *(key for key in ours if key not in theirs)]:
            yield from differences(ours.get(key, MISSING), theirs.get(key, MISSING), f"{place}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list):
        for number in range(max(len(ours), len(theirs))):
            mine = ours[number] if number < len(ours) else MISSING
            other = theirs[number] if number < len(theirs) else MISSING
            yield from differences(mine, other, f"{place}[{number}]")
    elif ours != theirs or type(ours) is not type(theirs):
        yield place, ours, theirs


class _Missing:
    def __repr__(self) -> str:
        return "(nothing)"


MISSING = _Missing()
