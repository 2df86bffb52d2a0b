"""A real schema registry for the tests of this folder, and topics of their own names."""

import ssl
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable
from connect.jvm.java import JavaNotFound
from tests.integration.group.secure_broker import _make_stores

from .apicurio import apicurio


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]) -> Iterator[str]:
    """The address of one Apicurio Registry for the whole run. Use subjects of your own."""
    try:
        with apicurio(tmp_path_factory.mktemp("apicurio")) as url:
            yield url
    except (JarsUnavailable, JavaNotFound) as error:
        cannot_have("schema registry", error)


@pytest.fixture
def topic() -> str:
    """A name that no other test has."""
    return f"topic-{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and trust stores: broker.pem (a server's), client.pem, client.p12, trust.pem, trust.p12."""
    folder = tmp_path_factory.mktemp("stores") / "stores"
    folder.mkdir()
    _make_stores(folder)
    return folder


@pytest.fixture
def server_tls(stores: Path) -> Callable[[bool], ssl.SSLContext]:
    """The TLS of a server, which may ask for a client's certificate: `server_tls(True)`."""

    def make(mutual: bool) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(stores / "broker.pem")
        if mutual:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(stores / "trust.pem")
        return context

    return make
