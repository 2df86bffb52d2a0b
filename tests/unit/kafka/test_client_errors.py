"""What a client says of its connections: when it is the end, and how often it is told."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect.kafka.clients.errors import ClientErrors, NotLetInError
from connect.pipeline.error_kinds import ErrorKind, kind_of

HOST = "sasl_ssl://b1:9093/bootstrap: "
LOGIN = "SASL authentication error: Authentication failed: Invalid username or password (after {}ms in state AUTH_REQ)"
TLS = "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: not verified, see ..."


class Brokers:
    """A client that is asked whether anybody answers."""

    def __init__(self, *, answer: bool) -> None:
        self.answer = answer
        self.asked = 0

    def list_topics(self, topic: str, timeout: float) -> None:
        self.asked += 1
        if not self.answer:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))


@pytest.fixture
def errors(clock: Any) -> Iterator[ClientErrors]:
    made = ClientErrors({"bootstrap.servers": "b1:9093", "sasl.mechanism": "PLAIN"}, clock=clock)
    yield made
    made.close()


def hear(errors: ClientErrors, code: int, words: str) -> None:
    errors.hear(KafkaError(code, HOST + words))


def refuse(errors: ClientErrors, clock: Any, times: int, every: float = 0.5) -> None:
    for _ in range(times):
        clock.now += every
        hear(errors, KafkaError._AUTHENTICATION, LOGIN.format(int(clock.now)))


def test_a_login_that_is_refused_again_and_again_is_the_end(errors: ClientErrors, clock: Any) -> None:
    refuse(errors, clock, 8)
    with pytest.raises(NotLetInError, match="b1:9093 refuse the login by PLAIN: .*Invalid username.*jaas") as raised:
        errors.check(Brokers(answer=False))
    assert raised.value.key == "sasl.jaas.config"
    assert kind_of(raised.value) is ErrorKind.ACCESS


@pytest.mark.parametrize(("times", "every"), [(2, 5.0), (6, 0.5)], ids=["twice", "for less than three seconds"])
def test_a_broker_that_refuses_for_a_moment_is_waited_for(
    errors: ClientErrors, clock: Any, times: int, every: float
) -> None:
    refuse(errors, clock, times, every)
    brokers = Brokers(answer=False)
    errors.check(brokers)
    assert not brokers.asked


def test_refusals_long_apart_are_no_row(errors: ClientErrors, clock: Any) -> None:
    refuse(errors, clock, 10, every=60)
    errors.check(Brokers(answer=False))


@pytest.mark.parametrize("answers", [True, False])
def test_whoever_gets_an_answer_goes_on(errors: ClientErrors, clock: Any, answers: bool) -> None:
    refuse(errors, clock, 8)
    if answers:
        errors.check(Brokers(answer=True))
        errors.check(Brokers(answer=False))  # the row starts over
    else:
        with pytest.raises(NotLetInError):
            errors.check()  # it was asked before


def test_brokers_that_are_away_are_one_outage_until_one_answers(
    errors: ClientErrors, clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    away, back = Brokers(answer=False), Brokers(answer=True)
    with caplog.at_level(logging.WARNING):
        for number in range(100):
            clock.now += 1
            hear(errors, KafkaError._TRANSPORT, f"Connect failed: refused (after {number}ms in state CONNECT)")
            hear(errors, KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
            errors.check(away)
    assert away.asked > 90
    assert errors.wait is not None
    assert errors.wait.why == f"No broker answers at b1:9093: {HOST}Connect failed: refused."
    clock.now += 1
    errors.check(back)
    assert errors.wait is None
    errors.check(back)
    assert back.asked == 1
    (line,) = (record.getMessage() for record in caplog.records)
    assert line.startswith("No broker answers at b1:9093: ")


def test_one_broker_of_several_that_is_away_is_told_once_and_nobody_waits(
    errors: ClientErrors, clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    others = Brokers(answer=True)
    with caplog.at_level(logging.WARNING):
        for number in range(100):
            clock.now += 1
            hear(errors, KafkaError._TRANSPORT, f"Connect failed: refused (after {number}ms in state CONNECT)")
            errors.check(others)
    assert errors.wait is None
    assert others.asked < 5
    (line,) = (record.getMessage() for record in caplog.records)
    assert "Connect failed: refused" in line


def test_the_last_broker_may_be_lost_without_a_word_that_all_are_down(errors: ClientErrors, clock: Any) -> None:
    hear(errors, KafkaError._TRANSPORT, "Connect failed: refused (after 1ms in state CONNECT)")
    errors.check(Brokers(answer=False))
    assert errors.wait is None
    clock.now += 2
    errors.check(Brokers(answer=False))
    assert errors.wait is not None


def test_a_client_that_is_closed_waits_no_more(errors: ClientErrors) -> None:
    hear(errors, KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
    errors.close()
    assert errors.wait is None


def test_a_token_that_cannot_be_had_is_no_refusal(errors: ClientErrors, clock: Any) -> None:
    for _ in range(20):
        clock.now += 1
        hear(errors, KafkaError._AUTHENTICATION, "Failed to acquire SASL OAUTHBEARER token: Connection refused")
    errors.check(Brokers(answer=False))


@pytest.mark.parametrize(
    ("code", "words", "key"),
    [
        (KafkaError._SSL, TLS, "ssl.truststore.location"),
        (KafkaError._TRANSPORT, TLS, "ssl.truststore.location"),
        (KafkaError._TRANSPORT, "Receive failed: ssl/tls alert bad certificate: SSL alert 42", "ssl.keystore.location"),
        (KafkaError._TRANSPORT, "Receive failed: tlsv13 alert certificate required", "ssl.keystore.location"),
        (KafkaError._AUTHENTICATION, "SASL PLAIN mechanism handshake failed: Broker: Unsupported", "sasl.mechanism"),
        (KafkaError._AUTHENTICATION, LOGIN, "sasl.jaas.config"),
    ],
)
def test_each_refusal_names_its_key_as_the_user_wrote_it(clock: Any, code: int, words: str, key: str) -> None:
    written: dict[str, Any] = {key: f"consumer.override.{key}"}
    errors = ClientErrors({"bootstrap.servers": "b1:9093"}, written, clock)
    for _ in range(9):
        clock.now += 1
        hear(errors, code, words)
    with pytest.raises(NotLetInError, match=f"consumer.override.{key}") as raised:
        errors.check()
    assert raised.value.key == f"consumer.override.{key}"
