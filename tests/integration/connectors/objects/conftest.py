"""What tests of the sinks of Azure and Google share: each runs once for each of their servers."""

from collections.abc import Iterator

import pytest

from tests.servers.google_storage import GoogleStorage
from tests.servers.object_stores import Objects, ObjectStore


@pytest.fixture
def google() -> Iterator[GoogleStorage]:
    """A server that keeps Google's rules for uploads and credentials."""
    with GoogleStorage() as server:
        yield server


@pytest.fixture(params=["azurite", "fake_gcs"])
def store(request: pytest.FixtureRequest) -> ObjectStore:
    """A server in a process of its own."""
    server: ObjectStore = request.getfixturevalue(request.param)
    return server


@pytest.fixture(params=["azurite", "fake_gcs", "google"])
def bucket(request: pytest.FixtureRequest) -> Objects:
    """A fresh bucket, or container, for one test."""
    made: Objects = request.getfixturevalue(request.param).bucket()
    return made
