"""Dead letters handed back to their sink through its first retry topic: no other consumer of the topic sees them."""

import time
import uuid

import pytest

from connect.herder.dead_letters import Wanted
from connect.herder.replay import ReplayRequest, replay


@pytest.mark.promise("P5")
def test_a_sink_takes_its_dead_letters_back_when_what_was_wrong_is_mended(
    picky, produce, all_of, lines_of, new_topic, tmp_path
):
    name, topic = f"sink-{uuid.uuid4().hex[:8]}", new_topic(partitions=2)
    config = {
        "value__converter": "picky.PickyConverter",
        "value__converter__gate": str(tmp_path / "gate"),
        "errors__tolerance": "all",
        "errors__retry__topics": "100ms",
        "errors__deadletterqueue__topic__name": f"dead-{name}",
        "errors__deadletterqueue__topic__replication__factor": "1",
        "errors__deadletterqueue__context__headers__enable": "true",
    }
    run = picky(name, topic, **config)
    more = {"headers": [("h", b"\xff"), ("h", None)], "timestamp": int(time.time() * 1000) - 5000}
    produce(topic, (b"k", b"bad one"), (None, b"bad two"), partition=1, **more)
    assert len(all_of(f"dead-{name}", 2)) == 2

    def replayed(order):
        return run.herder.dead_letters(name, lambda letters: replay(letters, order)).result(60)

    only = Wanted(key="k", connector=name)
    planned = replayed(ReplayRequest(to="connector", wanted=only, dry_run=True))
    assert [(sent.topic, sent.to_partition) for sent in planned.replayed] == [(f"connect-retry-{name}-100ms", 1)]
    assert lines_of() == []
    (tmp_path / "gate").touch()
    outcome = replayed(ReplayRequest(to="connector", wanted=only))
    assert (len(outcome.replayed), outcome.skipped, outcome.warning) == (1, [], None)
    run.until(lambda: lines_of() == [f"{topic} k bad one"], lines_of)
    assert len(replayed(ReplayRequest(to="connector", wanted=Wanted(connector=name))).replayed) == 1
    run.until(lambda: lines_of() == [f"{topic} k bad one", f"{topic} None bad two"], lines_of)
    # The topic itself has what it had.
    assert len(all_of(topic, 2)) == 2
