"""How long to wait after what, and what is said."""

import time
from typing import Any

import pytest

from connect import ConnectError
from connectors.twitter import keys
from connectors.twitter.failures import ApiError, Backoff, Kind, details, of_answer

CONFIG = {"topic": "posts", "twitter.rules": "a", "twitter.bearer.token": "t"}


def _backoff(**config: str) -> Backoff:
    return Backoff(
        keys.TwitterOptions.parse({**CONFIG, **{key.replace("_", "."): value for key, value in config.items()}})
    )


def _pauses(status: int | None, count: int, **more: Any) -> list[float]:
    backoff = _backoff()
    error = ApiError("x", Kind.NETWORK, "unreachable") if status is None else of_answer("x", status, {}, **more)
    return [backoff.after(error) for _ in range(count)]


def _about(found: list[float], wanted: list[float]) -> bool:
    return all(want <= got <= want * 1.1 + 1e-9 for got, want in zip(found, wanted, strict=True))


def test_network_errors_wait_a_quarter_of_a_second_longer_each_time() -> None:
    pauses = _pauses(None, 70)
    assert _about(pauses[:4], [0.25, 0.5, 0.75, 1.0])
    assert _about(pauses[-3:], [16.0] * 3)


def test_http_errors_wait_twice_as_long_each_time() -> None:
    assert _about(_pauses(503, 8, reset=None), [5, 10, 20, 40, 80, 160, 320, 320])


def test_limits_wait_until_they_end_or_twice_as_long_each_time() -> None:
    assert _about(_pauses(429, 6, reset=None), [60, 120, 240, 480, 900, 900])
    (pause,) = _pauses(429, 1, reset=time.time() + 100)
    assert 99 < pause < 102
    assert _about(_pauses(429, 1, reset=time.time() - 1), [60])


def test_success_begins_anew() -> None:
    backoff = _backoff()
    error = of_answer("x", 500, {}, None)
    backoff.after(error)
    backoff.reset()
    assert _about([backoff.after(error)], [5])


def test_too_many_tries_are_an_end() -> None:
    backoff = _backoff(twitter_retry_attempts="2")
    error = of_answer("the filtered stream", 503, {}, None)
    backoff.after(error)
    backoff.after(error)
    with pytest.raises(ConnectError, match="the filtered stream now .503.*more than twitter.retry.attempts"):
        backoff.after(error)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_what_does_not_pass_is_not_tried_again(status: int) -> None:
    error = of_answer("recent search", status, {"detail": "Something."}, None)
    with pytest.raises(ApiError) as raised:
        _backoff().after(error)
    assert raised.value is error
    assert str(error).count("\n") == 0
    assert "recent search" in str(error)
    assert f"{status}: Something)" in str(error)


def test_the_limit_of_connections_is_not_that_of_requests() -> None:
    error = of_answer("x", 429, {"connection_issue": "TooManyConnections", "detail": "d"}, time.time() + 500)
    assert error.reset is None


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ({}, ""),
        ({"title": "Unauthorized"}, ": Unauthorized"),
        ({"detail": "No\nway."}, ": No way"),
        ({"errors": [{"message": "one"}, {"details": ["two", "three"]}], "detail": "d"}, ": one; two; three"),
        ({"errors": "odd", "detail": 3}, ": 3"),
        ({"errors": [1, None]}, ""),
    ],
)
def test_what_x_says_itself(problem: dict[str, Any], said: str) -> None:
    assert details(problem) == said
