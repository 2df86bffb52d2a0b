"""Which Kafka cluster this is."""

from __future__ import annotations

from collections.abc import Mapping

from connect.errors import ConnectError
from connect.kafka.admin_answers import AdminError
from connect.kafka.client_settings import task_java_settings


def cluster_id(worker: Mapping[str, str]) -> str | None:
    """The id of the cluster that a worker's configuration leads to.

    Raises:
        ConnectError: no broker answers.
        NotLetInError: the brokers refuse this client.
    """
    from connect.kafka.admin import Admin

    admin = Admin(task_java_settings("admin", worker, {}))
    try:
        return admin.cluster_id()
    except AdminError as error:
        raise ConnectError(f"{error.words}.") from error
    finally:
        admin.close()
