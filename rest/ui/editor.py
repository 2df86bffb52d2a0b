"""What the pages of a new connector and of an existing one share: a configuration that is checked while it is written.

It is written in one of `NOTATIONS`. Everything that a user wrote stays, whatever the cluster says about it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from fastapi import Response

from connect.telemetry.redaction import MASK, names_a_secret, shown
from rest.ui.cluster import Answer, Cluster
from rest.ui.forms import Form, Listing, form
from rest.ui.notations import FORM, NOTATIONS, Written
from rest.ui.rendering import page
from rest.ui.requests import refused

#: Why nothing was stored where the configuration is another by now than the one that was changed: see `digest`.
MEANWHILE: Final = (
    "Somebody has changed this connector meanwhile. Nothing was stored. Store again to replace their changes."
)
#: What buttons ask for, before a colon: another notation, the values of a key.
_TURN: Final = "as"
_LIST: Final = "list"


@dataclass(frozen=True, slots=True)
class Check:
    """What the cluster says of a configuration.

    Attributes:
        entries: its response key by key; None where the text could not be read.
        refusal: a response that is no validation.
        problem: why the text cannot be read; else empty.
    """

    entries: Mapping[str, Any] | None = None
    refusal: Answer | None = None
    problem: str = ""

    @property
    def errors(self) -> dict[str, list[str]]:
        """By key."""
        values = [one["value"] for one in self.entries["configs"]] if self.entries else []
        return {value["name"]: value["errors"] for value in values if value["errors"]}

    @property
    def count(self) -> int:
        """The number of errors."""
        return sum(map(len, self.errors.values())) + bool(self.problem)


@dataclass(frozen=True, slots=True)
class Editor:
    """The editor of one configuration.

    Args:
        cluster: that it is for.
        plugin: the connector's class, while the configuration names none.
        name: of a connector that exists; None for a new one.
        more: values of its template.
    """

    cluster: Cluster
    plugin: str
    name: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    async def check(self, written: Written) -> Check:
        """Have the cluster validate what is written."""
        if written.problem and written.notation != FORM:
            return Check(problem=written.problem)
        config, own = dict(written.config), self._own_errors(written.config)
        if self.name is not None:
            config["name"] = self.name
        answer = await self._validated(config)
        if answer.status == 403 and self.name is None and config.get("name"):
            # Others may write this connector: about everything else the cluster can be asked.
            own["name"] = [answer.message]
            answer = await self._validated({key: value for key, value in config.items() if key != "name"})
        if answer.refused:
            return Check(refusal=answer, problem=written.problem)
        return Check(_with(answer.body, own), problem=written.problem)

    async def checked(self, written: Written, pressed: str, action: str) -> Check | Response:
        """When a button was pressed: the check, if that was `action` and nothing is wrong; else the page again."""
        if notation := _asked(pressed, _TURN):
            return await self.page(written.turned(notation))
        if key := _asked(pressed, _LIST):
            return await self.page(written, key=key)
        check = await self.check(written)
        if pressed != action or check.count or check.refusal:
            return await self.page(written, pressed=True, check=check)
        return check

    async def opened(self, written: Written) -> Response:
        """The page for somebody who has typed nothing yet."""
        check = await self.check(written)
        if check.refusal is not None and (self.name is None or check.refusal.status == 403):
            return refused(check.refusal)
        return await self.page(written, check=check)  # one whose plug-in is gone can be given another

    async def page(
        self, written: Written, *, pressed: bool = False, check: Check | None = None, key: str = "", said: str = ""
    ) -> Response:
        """The page.

        Args:
            pressed: whether the user asked what is wrong. A new form has errors that nobody made: they are not shown
                before that.
            check: if it is known.
            key: of which the values were asked for.
            said: why nothing was stored.
        """
        check = check or await self.check(written)
        if check.refusal is not None:
            written, said = written.turned("json"), check.refusal.message  # a form needs what was not answered
        shown = pressed or self.name is not None or bool(check.problem)
        made = Form([], "", check.errors if shown else {})
        if written.notation == FORM and check.entries is not None:
            listed, listing = await asyncio.gather(self._listed(written.config), self._listing(key, written.config))
            made = form(check.entries, written.config, errors=shown, listed=listed, listing=listing)
        return page(
            "new.html" if self.name is None else "configuration.html",
            status=check.refusal.status if check.refusal else 400 if said or (pressed and check.count) else 200,
            notations=NOTATIONS,
            written=written,
            form=made,
            plugin=written.config.get("connector.class") or self.plugin,
            name=self.name,
            shown=shown,
            pressed=pressed,
            check=check,
            said=said,
            rights=await self.cluster.rights(self.name),
            **self.elsewhere(written, check),
            **self.more,
        )

    def elsewhere(self, written: Written, check: Check) -> dict[str, str]:
        """The same as a file, and by commands. No secret is in them."""
        if check.entries is None:
            return {"file": "", "commands": ""}
        config = _without_secrets(written.config, check.entries)
        name = self.name or config.get("name") or "NAME"
        file = shlex.quote(f"{name}.json")
        rest: Any = {key: config[key] for key in sorted(config) if key != "name"}
        if self.name is None:
            content, call = {"name": name, "config": rest}, "connectors"
        else:
            content, call = {"name": name, **rest}, f"connectors/{quote(name, safe='')}/config"
        method = "" if self.name is None else "-X PUT "
        return {
            "file": json.dumps(content, indent=2, ensure_ascii=False),
            "commands": f"connect apply -f {file}\n"
            f"curl {method}-H 'Content-Type: application/json' -d @{file} http://WORKER:8083/{call}",
        }

    def _own_errors(self, config: Mapping[str, str]) -> dict[str, list[str]]:
        own = {}
        if not config.get("connector.class"):
            own["connector.class"] = [f"is missing. Write {self.plugin or 'the class of the connector'}."]
        if self.name is not None and config.get("name", self.name) != self.name:
            own["name"] = [f"cannot be changed. Write {self.name}, or create another connector."]
        return own

    async def _ask(self, method: str, config: Mapping[str, str], *path: str, body: object = None) -> Answer:
        """Ask for something of the plug-in."""
        plugin = config.get("connector.class") or self.plugin
        return await self.cluster.ask(method, "connector-plugins", plugin, "config", *path, body=body)

    async def _validated(self, config: Mapping[str, str]) -> Answer:
        return await self._ask("PUT", config, "validate", body=dict(config))

    async def _listed(self, config: Mapping[str, str]) -> Sequence[str]:
        """The keys of which values can be listed; none where workers do not tell."""
        answer = await self._ask("GET", config, "choices")
        return [] if answer.refused else answer.body["keys"]

    async def _listing(self, key: str, config: Mapping[str, str]) -> Listing | None:
        if not key:
            return None
        body = dict(config) if self.name is None else {**config, "name": self.name}
        answer = await self._ask("PUT", config, key, "choices", body=body)
        if answer.refused:
            return Listing(key, [], truncated=False, message=answer.message)
        found = answer.body
        return Listing(key, found["values"], found["truncated"], found["message"] or "")


def digest(config: Mapping[str, str]) -> str:
    """Another one for another configuration, as far as the page's reader sees it."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def _asked(wanted: str, what: str) -> str:
    """What stands behind the colon of a button's value, for `_TURN` and `_LIST`; empty for other buttons."""
    prefix = f"{what}:"
    return wanted.removeprefix(prefix) if wanted.startswith(prefix) else ""


def _with(validated: Mapping[str, Any], errors: Mapping[str, list[str]]) -> dict[str, Any]:
    """A validation with these errors in place of its own for their keys."""
    entries = [
        {**one, "value": {**one["value"], "errors": errors.get(one["value"]["name"], one["value"]["errors"])}}
        for one in validated["configs"]
    ]
    there = {one["value"]["name"] for one in entries}
    entries += [{"definition": None, "value": {"name": k, "errors": e}} for k, e in errors.items() if k not in there]
    return {**validated, "configs": entries}


def _without_secrets(config: Mapping[str, str], validated: Mapping[str, Any]) -> dict[str, str]:
    defined = [one["definition"] for one in validated["configs"] if one["definition"] is not None]
    secret = {one["name"] for one in defined if one["type"] == "PASSWORD"}
    known = {one["name"] for one in defined}
    masked = {
        key: shown(value, secret=key in secret or (key not in known and names_a_secret(key)))
        for key, value in config.items()
    }
    return {key: "${env:NAME}" if value == MASK else value for key, value in masked.items()}
