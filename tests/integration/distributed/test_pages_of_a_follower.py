"""The operations page of a worker that does not lead: what it has changed is what it shows."""

import json
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

from connect.kafka.broker.embedded import Broker
from tests.support.rest import send

from .pool import Rest, a_pool

pytestmark = pytest.mark.slow

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CONFIG = {"connector.class": "FileStreamSource", "topic": "lines", "file": "/nowhere", "tasks.max": "1"}


def pressed(worker: Rest, path: str, **fields: str) -> tuple[int, str]:
    """What a browser shows after a button was pressed: the status and text of the page that it leads to."""
    answer = send(HTTPConnection("127.0.0.1", worker.port, timeout=100), "POST", path, urlencode(fields), FORM)
    if answer.status != 303:
        return answer.status, answer.content.decode()
    found = send(HTTPConnection("127.0.0.1", worker.port, timeout=100), "GET", answer.headers["Location"], None, {})
    return found.status, found.content.decode()


def test_what_was_created_and_changed_is_shown_at_once(broker: Broker, tmp_path: Path) -> None:
    with a_pool(broker.bootstrap_servers, tmp_path, 2) as pool:
        (follower,) = pool.followers()

        def shown(path: str, **fields: str) -> str:
            answers = []
            pool.until(lambda: answers.append(pressed(follower, path, **fields)) or answers[-1][0] != 409)
            status, page = answers[-1]
            assert status == 200, page
            return page

        for number in range(10):
            config = {**CONFIG, "name": f"orders-{number}"}
            page = shown("/ui/new", **{"as": "json", "text": json.dumps(config), "do": "create"})
            assert "The connector is there" in page
            for value in ("first", "second"):
                written = json.dumps({**config, "note": value})
                page = shown(f"/ui/connectors/orders-{number}", do="configure", config=written)
                assert "The new configuration is stored" in page
                assert f"&#34;note&#34;: &#34;{value}&#34;" in page
