"""Records that are refused for good, by the broker or by the client: whose fault it is, and what a user can do."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from connect.errors import ConnectError
from connect.kafka.clients.log import log as client_log

log = logging.getLogger("connect.kafka")

#: What a client says of records once it is broken.
OF_A_BROKEN_CLIENT: Final = frozenset(
    {
        "_FATAL",
        "_STATE",
        "_PURGE_QUEUE",
        "_PURGE_INFLIGHT",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "UNKNOWN_PRODUCER_ID",
        "INVALID_PRODUCER_EPOCH",
    }
)
#: The settings by which any client finds brokers and is let in.
_CONNECTION: Final = re.compile(r"bootstrap\.servers$|client\.id$|security\.|sasl\.|ssl\.|oauth|enable\.ssl\.")
#: How long a task that is to stop may wait for the settings of a topic.
_ANSWER_S: Final = 2.0


class DeliveryError(ConnectError):
    """The broker, or the client, refuses a record for good.

    Attributes:
        topic: of the record.
        code: the Kafka error's name, such as MSG_SIZE_TOO_LARGE.
    """

    def __init__(self, topic: str, code: str, message: str) -> None:
        super().__init__(f'Topic "{topic}" refuses a record: {message} ({code}).{_advice(topic, code)}')
        self.topic = topic
        self.code = code


class WrongClockError(DeliveryError):
    """The broker refuses the timestamp of a record that has none of its own: the client set this machine's time.

    The record is not at fault, and it passes when the clocks agree again. No error policy applies.
    """

    def __init__(self, refusal: DeliveryError) -> None:
        ConnectError.__init__(
            self,
            f'Topic "{refusal.topic}" refuses the time of this machine ({refusal.code}): its clock or that of the'
            " broker is wrong, by more than message.timestamp.before.max.ms and message.timestamp.after.max.ms of the"
            " topic let pass. Nothing is lost: the task continues when the clock is right.",
        )
        self.topic = refusal.topic
        self.code = refusal.code


class BrokenClientError(DeliveryError):
    """The client is broken. Its records are not at fault, and another client writes them: no error policy applies."""

    def __init__(self, refusal: DeliveryError) -> None:
        ConnectError.__init__(
            self,
            f'The producer cannot go on ({refusal.code}), so a record for the topic "{refusal.topic}" is not written.'
            " Nothing is lost: a producer that starts now writes it.",
        )
        self.topic = refusal.topic
        self.code = refusal.code


class ClockCheck:
    """Tells which refusals of one client are the clock's fault.

    Args:
        settings: librdkafka's, of the client.

    Attributes:
        dated_topics: those for which records brought timestamps of their own.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.dated_topics: set[str] = set()
        self._connection = {key: value for key, value in settings.items() if _CONNECTION.match(key)}
        self._compacted: dict[str, bool] = {}

    def cause(self, error: DeliveryError, message: Any) -> DeliveryError:
        """The original cause of an error, which the client reported with this message."""
        if error.topic in self.dated_topics or error.code not in ("INVALID_TIMESTAMP", "INVALID_RECORD"):
            return error
        # The latter is what the client makes of the timestamps of several records in one request, and of a missing key.
        if error.code == "INVALID_RECORD" and message.key() is None and self._is_compacted(error.topic):
            return error
        return WrongClockError(error)

    def _is_compacted(self, topic: str) -> bool:
        """Whether a topic accepts no record without a key. False if the brokers do not say: nothing is skipped then."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

        if topic not in self._compacted:
            asked = ConfigResource(ResourceType.TOPIC, topic)
            connection: dict[str, Any] = {**self._connection, "logger": client_log}
            admin = AdminClient(connection)
            try:
                found = admin.describe_configs([asked], request_timeout=_ANSWER_S)[asked].result()
                self._compacted[topic] = "compact" in found["cleanup.policy"].value
            except KafkaException as error:
                log.debug("the settings of topic %s cannot be read: %s", topic, error)
                return False
        return self._compacted[topic]


def _advice(topic: str, code: str) -> str:
    match code.removeprefix("_"):
        case "MSG_SIZE_TOO_LARGE":
            return (
                " Raise max.message.bytes of the topic and producer.override.max.request.size of the connector, or skip"
                ' such records with "errors.tolerance": "all".'
            )
        case "TOPIC_AUTHORIZATION_FAILED":
            return f" Grant WRITE (and CREATE, if it does not exist) on topic {topic} to the user of this producer."
        case "UNKNOWN_TOPIC_OR_PART" | "UNKNOWN_TOPIC" | "LEADER_NOT_AVAILABLE":
            return f" Create it with `kafka-topics --create --topic {topic}`."
    return ""
