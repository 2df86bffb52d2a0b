"""What is said of requests to brokers that had no answer."""

import pytest
from kafka import errors

from connect.kafka.admin.asking import Asking


@pytest.mark.parametrize("inner", ["No node_id provided", 1, "bootstrap-0"])
def test_a_client_without_a_connection_is_told_in_words(inner: object) -> None:
    asking = Asking({"bootstrap.servers": "broker1:9092"})
    told = asking._told(errors.NodeNotReadyError(inner))
    assert str(told) == "No broker answers at broker1:9092 (none is connected) (NO_ANSWER)"
