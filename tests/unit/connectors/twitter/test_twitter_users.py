"""Users of timelines, by name and by id."""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from connectors.twitter.connector import TwitterSourceConnector
from connectors.twitter.keys import TwitterOptions
from connectors.twitter.polled import Polled

CONFIG = {"topic": "posts", "twitter.bearer.token": "t", "twitter.mode": "timelines"}


class Asked:
    """An API that knows every name, and has no posts."""

    answered_bytes = 0

    def __init__(self) -> None:
        self.limits = SimpleNamespace(wait=lambda _: 0.0)
        self.names: list[str] = []
        self.ids: list[str] = []

    def users(self, names: Sequence[str]) -> dict[str, Any]:
        self.names += names
        return {"data": [{"username": name, "id": f"9{number}"} for number, name in enumerate(names)]}

    def timeline(self, user: str, **_: Any) -> dict[str, Any]:
        self.ids.append(user)
        return {"meta": {}}


def test_a_name_of_digits_is_no_id_with_its_sign() -> None:
    connector = TwitterSourceConnector()
    connector.start({**CONFIG, "twitter.users": "@777,777,@alice,bob"})
    (config,) = connector.task_configs(1)
    api: Any = Asked()
    nothing: Any = SimpleNamespace(count=lambda *_, **__: None, gauge=lambda *_, **__: None)
    context: Any = SimpleNamespace(
        metrics=nothing, stopping=lambda: False, offsets=lambda partitions: [None] * len(partitions)
    )
    task = Polled(TwitterOptions.parse(config), json.loads(config["task.work"]), {}, context, api, {})
    for _ in range(5):
        task.poll()
    assert api.names == ["777", "alice", "bob"]
    assert api.ids == ["90", "91", "92", "777"]
