"""Consumer groups: taking out the member that a killed task left behind.

Until its session ends (45 s by default) such a member holds its partitions, and no successor gets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connect.errors import ConnectError
from connect.kafka.client_settings import task_client_settings


def remove_member(worker: Mapping[str, str], connector: Mapping[str, str], group: str, member: str) -> None:
    """Remove one member from a consumer group. A member that is gone already is no error.

    Args:
        worker, connector: configurations, for the brokers' addresses and security.
        group: the group's name.
        member: the member's id, which its task reported when it got partitions.

    Raises:
        ConnectError: the broker refuses.
    """
    from kafka import KafkaAdminClient
    from kafka.admin import MemberToRemove
    from kafka.errors import KafkaError, NoError, UnknownMemberIdError

    admin = KafkaAdminClient(**_settings(worker, connector))
    try:
        answers = admin.remove_group_members(group, [MemberToRemove(member_id=member, reason="its task was killed")])
    except KafkaError as error:
        raise ConnectError(f"Group {group}: {error}") from error
    finally:
        admin.close()
    for answer in answers.values():
        if answer not in (NoError, UnknownMemberIdError):
            raise ConnectError(f"Group {group}: {answer.__name__}")


def _settings(worker: Mapping[str, str], connector: Mapping[str, str]) -> dict[str, Any]:
    """kafka-python's settings, from those of the consumer that left the member."""
    consumer = task_client_settings("consumer", worker, connector).librdkafka
    names = {
        "bootstrap.servers": "bootstrap_servers",
        "security.protocol": "security_protocol",
        "sasl.mechanism": "sasl_mechanism",
        "sasl.mechanisms": "sasl_mechanism",
        "sasl.username": "sasl_plain_username",
        "sasl.password": "sasl_plain_password",
        "ssl.ca.location": "ssl_cafile",
        "ssl.certificate.location": "ssl_certfile",
        "ssl.key.location": "ssl_keyfile",
        "ssl.key.password": "ssl_password",
    }
    settings = {ours: consumer[theirs] for theirs, ours in names.items() if theirs in consumer}
    settings["security_protocol"] = str(settings.get("security_protocol", "PLAINTEXT")).upper()
    return {**settings, "client_id": "connect-supervisor", "request_timeout_ms": 10_000}
