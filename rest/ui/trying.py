"""/ui/try: the configuration of a form on sample records, and the way back to the form with all that was typed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from rest.ui.cluster import Cluster
from rest.ui.notations import Written, written
from rest.ui.rendering import page
from rest.ui.requests import cluster_of, lines_of

router = APIRouter(prefix="/ui", include_in_schema=False)

#: How the fields of this page begin. All others are those of the form, and go back to it.
_OWN: Final = "try:"
_NEW: Final = "/ui/new"
_NOTHING: Final[Mapping[str, Any]] = {"records": [], "untapped": []}


@dataclass(frozen=True, slots=True)
class _Asked:
    """The records that were asked for, as they were typed."""

    topic: str
    limit: str
    from_end: bool
    samples: str

    @classmethod
    def of(cls, sent: Mapping[str, Sequence[str]]) -> _Asked:
        own = {key.removeprefix(_OWN): values[-1].strip() for key, values in sent.items() if key.startswith(_OWN)}
        return cls(own.get("topic", ""), own.get("limit", "") or "5", "from_end" in own, own.get("samples", ""))

    def body(self) -> dict[str, Any]:
        """What the interface is asked. Raises ValueError for samples that are not JSON, and for a number."""
        if self.samples:
            return {"samples": _samples(self.samples)} | ({"topic": self.topic} if self.topic else {})
        if not self.limit.isdecimal():
            raise ValueError(f'How many: "{self.limit}" is not a whole number.')
        return {"topic": self.topic or None, "limit": int(self.limit), "from_end": self.from_end}


@router.get("/try")
async def nothing_to_try(_: Request) -> Response:
    """This page is made of a form: who comes to it by its address begins with that."""
    return RedirectResponse(_NEW, 303)


@router.post("/try")
async def try_page(request: Request) -> Response:
    """Try the configuration of a form at once: on the first records of its topics, or on what this page asks for.

    Of the form's own fields three are read: the `class` of a configuration without one, the `name` of a connector that
    exists, and `back`, where the form sends itself.
    """
    sent = await lines_of(request)
    own = {field: sent.get(field, [""])[-1] for field in ("class", "name", "back")}
    now = written(sent)
    config = {"connector.class": own["class"], **now.config} | ({"name": own["name"]} if own["name"] else {})
    asked = _Asked.of(sent)
    said, found, status = await _tried(cluster_of(request), now, config, asked)
    return page(
        "trying.html",
        status=status,
        config={"name": "", "topics": "", **config},
        typed=[(key, value) for key, values in sent.items() if _goes_back(key) for value in values],
        asked=asked,
        back=own["back"] if own["back"].startswith("/ui/") else _NEW,
        said=said,
        found=found,
    )


def _goes_back(field: str) -> bool:
    return field != "do" and not field.startswith(_OWN)


async def _tried(
    cluster: Cluster, now: Written, config: Mapping[str, str], asked: _Asked
) -> tuple[str, Mapping[str, Any], int]:
    """Why nothing was tried, what was found, and the status of the page."""
    if now.problem:
        return now.problem, _NOTHING, 400
    try:
        body = {"config": dict(config), **asked.body()}
    except ValueError as error:
        return str(error), _NOTHING, 400
    answer = await cluster.ask("PUT", "connector-plugins", config["connector.class"], "config", "try", body=body)
    if answer.refused:
        return answer.message, _NOTHING, answer.status
    return "", answer.body, 200


def _samples(text: str) -> list[Any]:
    """Records in JSON: one, a list of them, or a line each. Raises ValueError."""
    try:
        whole = json.loads(text)
        return whole if isinstance(whole, list) else [whole]
    except (ValueError, RecursionError):
        pass
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"Samples: line {number} is not JSON ({error}).") from None
    return found
