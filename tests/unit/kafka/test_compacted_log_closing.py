"""A log ends in time where no broker answers, whatever a thread waits for."""

import threading

import pytest

from connect.errors import ConnectError
from connect.kafka import compacted_log
from connect.kafka.admin.topics import TopicShape
from connect.kafka.compacted_log import CompactedLog
from tests.support.waiting import until

NOBODY = "127.0.0.1:1"


@pytest.mark.promise("P11")
def test_a_log_that_is_being_claimed_closes_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacted_log, "_CLAIM_S", 10.0)
    log = CompactedLog("config", {"bootstrap.servers": NOBODY}, TopicShape(1, 1, {}), lambda _: None, "leader")

    def claim() -> None:
        with pytest.raises(ConnectError):
            log.claim()

    threading.Thread(target=claim, daemon=True).start()
    until(lambda: log._producer is not None, 10)  # from here on it waits for an answer
    closing = threading.Thread(target=log.close, args=[0.2], daemon=True)
    closing.start()
    closing.join(5)
    assert not closing.is_alive()
