"""A source that asks for TLS and a password."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from connect.kafka.broker.embedded import Broker, status, stop
from tests.integration.connectors.mirror.conftest import Mirror
from tests.integration.group.secure_broker import SecureBroker, start_secure_broker
from tests.integration.standalone.conftest import Standalone

pytestmark = pytest.mark.slow


class Guarded(NamedTuple):
    """A broker by its listener for TLS and SASL, and by its plain one."""

    secure: SecureBroker
    plain: str


@pytest.fixture(scope="module")
def guarded(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    data, stores = tmp_path_factory.mktemp("secure-source"), tmp_path_factory.mktemp("stores") / "stores"
    try:
        secure = start_secure_broker(data, stores)
        running = status(data)
        assert running is not None
        yield Guarded(secure, running.bootstrap_servers)
    finally:
        stop(data)


@pytest.fixture
def mirror(standalone: Standalone, guarded: Guarded, broker: Broker) -> Mirror:
    return Mirror(standalone, guarded.plain, broker.bootstrap_servers)


def secured(guarded: Guarded, password: str) -> dict[str, str]:
    settings = guarded.secure.settings("PLAIN", "alice", password)
    return {f"source.cluster.{key}": value for key, value in settings.items()}


def test_a_source_with_tls_and_a_password_is_copied(mirror: Mirror, guarded: Guarded) -> None:
    mirror.source.create(mirror.topic)
    mirror.source.produce(mirror.topic, [b"one", b"two"])
    running = mirror.start(mirror.connector(**secured(guarded, "wonder")))
    running.until(lambda: mirror.target.partitions(mirror.copy) == 1)
    running.until(lambda: mirror.target.values(mirror.copy) == [b"one", b"two"])
    running.until(lambda: len(mirror.source.read(f"mm2-offset-syncs.{mirror.alias}-target.internal")) > 0)


def test_a_wrong_password_is_told_and_not_shown(mirror: Mirror, guarded: Guarded) -> None:
    more = {**secured(guarded, "wrong-password-51x"), "admin.timeout.ms": "3000"}
    running = mirror.start(mirror.connector(**more))
    running.until_logged(
        f'Source cluster "{mirror.alias}" does not let us in: The brokers at {guarded.secure.bootstrap_servers}'
    )
    running.until_logged("uthentication failed")
    assert "wrong-password-51x" not in running.log
