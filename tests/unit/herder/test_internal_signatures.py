"""What workers ask of each other is looked at before its body is there, and by the body again."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from connect import peers
from connect.herder.current_operations import CurrentOperations
from connect.herder.errors import BadRequestError, ForbiddenError, RebalanceError
from connect.herder.leader import Leader
from connect.herder.pool import Pool
from connect.storage.config_state import SessionKey

KEY = b"k" * 32
RIGHT = "HmacSHA256"
HOUR_MS = 3_600_000


@pytest.fixture
def state() -> SimpleNamespace:
    return SimpleNamespace(session_key=SessionKey(KEY, RIGHT, 0), protocol="sessioned", authentication=[])


@pytest.fixture
def leader(state: SimpleNamespace) -> Leader:
    settings: Any = {
        "rest.security.authentication": state.authentication,
        "inter.worker.verification.algorithms": [RIGHT],
        "inter.worker.key.ttl.ms": HOUR_MS,
    }
    worker: Any = SimpleNamespace(config=settings)
    log: Any = SimpleNamespace(state=state, writers=1)
    member: Any = SimpleNamespace(role=state)
    return Leader(Pool(worker, log, member, CurrentOperations()))


def signed(body: bytes = b"body", key: bytes = KEY, algorithm: str = RIGHT) -> dict[str, str]:
    return {peers.SIGNATURE_HEADER: peers.sign(key, body, algorithm), peers.ALGORITHM_HEADER: algorithm}


def test_who_signs_is_heard(leader: Leader) -> None:
    leader.check_headers(signed())
    leader.check_signature(b"body", signed())


def test_headers_alone_do_not_prove_anything(leader: Leader) -> None:
    leader.check_headers(signed(b"another"))
    with pytest.raises(ForbiddenError):
        leader.check_signature(b"body", signed(b"another"))
    with pytest.raises(ForbiddenError):
        leader.check_signature(b"body", signed(key=b"x" * 32))


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({}, BadRequestError),
        ({peers.SIGNATURE_HEADER: "x"}, BadRequestError),
        (signed(algorithm="HmacSHA1"), BadRequestError),
        ({**signed(), peers.SIGNATURE_HEADER: "short"}, ForbiddenError),
        ({**signed(), peers.SIGNATURE_HEADER: "\xe4"}, ForbiddenError),
    ],
)
def test_what_cannot_be_right_is_refused_without_its_body(leader: Leader, headers: Any, error: Any) -> None:
    with pytest.raises(error):
        leader.check_headers(headers)


def test_without_a_key_it_is_to_be_sent_again(leader: Leader, state: SimpleNamespace) -> None:
    state.session_key = None
    with pytest.raises(RebalanceError):
        leader.check_headers(signed())
    assert not leader.key_settled()


def test_where_nothing_is_signed_nothing_is_asked_for_unless_users_log_in(
    leader: Leader, state: SimpleNamespace
) -> None:
    state.protocol = "compatible"
    leader.check_headers({})
    leader.check_signature(b"body", {})
    state.authentication.append("basic")
    with pytest.raises(BadRequestError):
        leader.check_headers({})


@pytest.mark.parametrize(("age_ms", "settled"), [(0, False), (120_000, True), (HOUR_MS, False), (-120_000, False)])
def test_a_key_is_everywhere_when_it_is_not_new_and_not_due(
    leader: Leader, state: SimpleNamespace, age_ms: int, settled: bool
) -> None:
    state.session_key = SessionKey(KEY, RIGHT, int(time.time() * 1000) - age_ms)
    assert leader.key_settled() is settled
