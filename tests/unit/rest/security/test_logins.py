"""What a login costs, how often it may fail, and that a change of a file counts for the next request."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import pytest

from rest.security.attempts import Attempts
from rest.security.authentication import Authentication, LoginError
from rest.security.files import WatchedFile
from rest.security.users import Users, parse_users

from .conftest import TOKEN, USERS, Guarded, basic, bearer, quick


def status(client: Any, headers: dict[str, str], path: str = "/connectors") -> int:
    found: int = client.get(path, headers=headers).status_code
    return found


def test_a_password_is_looked_at_the_slow_way_once(guarded: Guarded, counted: list[str]) -> None:
    client = guarded.serve()
    counted.clear()
    assert [status(client, basic("vera")) for _ in range(5)] == [200] * 5
    assert counted == ["pw-vera"]
    assert [status(client, basic("vera", "other")) for _ in range(2)] == [401] * 2
    assert counted == ["pw-vera", "other", "other"]


def test_a_changed_password_counts_at_once(guarded: Guarded) -> None:
    client = guarded.serve()
    assert status(client, basic("vera")) == 200
    guarded.write("users", f"vera:{quick('new')}\n")
    assert status(client, basic("vera")) == 401
    assert status(client, basic("vera", "new")) == 200


def test_who_is_removed_is_out_at_once(guarded: Guarded) -> None:
    client = guarded.serve()
    assert status(client, basic("vera")) == 200
    guarded.write("users", f"otto:{quick('pw-otto')}\n")
    assert status(client, basic("vera")) == 401
    guarded.users.unlink()
    assert status(client, basic("otto")) == 401


def test_a_revoked_and_an_expired_token_are_out_at_once(guarded: Guarded) -> None:
    client = guarded.serve()
    assert status(client, bearer()) == 200
    line = guarded.tokens.read_text().strip()
    guarded.write("tokens", f"{line}:2020-01-01\n")
    assert status(client, bearer()) == 401
    guarded.write("tokens", f"{line}:2999-01-01\n")
    assert status(client, bearer()) == 200
    guarded.write("tokens", "")
    assert status(client, bearer()) == 401


def test_a_role_that_is_taken_is_gone_at_once(guarded: Guarded) -> None:
    client = guarded.serve()
    assert status(client, basic("ada"), "/admin/loggers") == 200
    guarded.write("roles.toml", "")
    assert status(client, basic("ada"), "/admin/loggers") == 403


def test_an_unknown_user_is_looked_at_the_slow_way_too(guarded: Guarded, counted: list[str]) -> None:
    client = guarded.serve()
    counted.clear()
    assert status(client, basic("unknown", "x")) == 401
    assert counted == ["x"]


@pytest.mark.parametrize("wrong", [basic("vera", "x"), basic("unknown"), bearer("x"), {"Authorization": "Basic x"}])
def test_too_many_failures_are_not_looked_at_any_more(
    guarded: Guarded, counted: list[str], wrong: dict[str, str]
) -> None:
    client = guarded.serve()
    assert status(client, basic("vera")) == 200
    assert [status(client, wrong) for _ in range(10)] == [401] * 10
    counted.clear()
    refused = client.get("/connectors", headers=wrong)
    assert refused.status_code == 429
    assert refused.json()["error_code"] == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 6
    assert status(client, basic("otto")) == 429
    assert counted == []
    # Who is known already, or has a token, is not locked out by others of the same address.
    assert status(client, basic("vera")) == 200
    assert status(client, bearer()) == 200


def test_logins_that_succeed_cost_no_attempt(guarded: Guarded) -> None:
    client = guarded.serve()
    for _ in range(3):
        guarded.write("users", "".join(f"{name}:{quick(f'pw-{name}')}\n" for name in USERS))
        assert [status(client, basic(name)) for name in ("vera", "otto", "edna", "ada")] == [200] * 4


def test_attempts_come_back_with_time_and_are_of_one_address() -> None:
    now = [100.0]
    attempts = Attempts(lambda: now[0])
    assert [attempts.take("10.0.0.1") for _ in range(11)] == [True] * 10 + [False]
    assert attempts.take("10.0.0.2")
    assert attempts.wait("10.0.0.1") == 6
    now[0] += 6.1
    assert [attempts.take("10.0.0.1") for _ in range(2)] == [True, False]
    now[0] += 1000
    assert [attempts.take("10.0.0.1") for _ in range(11)] == [True] * 10 + [False]
    # One machine has many addresses of IPv6; its one of IPv4 is the same in both spellings.
    assert [attempts.take(f"2001:db8::{number:x}") for number in range(11)] == [True] * 10 + [False]
    assert attempts.take("2001:db8:0:1::1")
    assert not attempts.take("::ffff:10.0.0.1")
    attempts.give_back("10.0.0.1")
    assert attempts.take("10.0.0.1")


def test_attempts_of_many_addresses_are_forgotten() -> None:
    attempts = Attempts(lambda: 1.0)
    for number in range(12_000):
        attempts.take(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(attempts._left) == 10_000


@pytest.fixture
def authentication(guarded: Guarded) -> Callable[[], Authentication]:
    def make() -> Authentication:
        file: WatchedFile[Users] = WatchedFile("k", str(guarded.users), parse_users, Users.of({}), private=True)
        return Authentication(file, None, None)

    return make


def test_requests_at_one_time_with_one_password_wait_for_one_look(
    authentication: Callable[[], Authentication], counted: list[str]
) -> None:
    async def ask() -> list[str]:
        checks = authentication()
        header = basic("vera")["Authorization"].encode()
        scope = {"headers": [(b"authorization", header)]}
        counted.clear()
        return [str(one) for one in await asyncio.gather(*(checks.identify(scope, "10.0.0.1") for _ in range(30)))]

    assert asyncio.run(ask()) == ["user:vera"] * 30
    assert counted == ["pw-vera"]


def test_passwords_that_wait_are_few(authentication: Callable[[], Authentication]) -> None:
    async def ask() -> list[int]:
        checks = authentication()

        async def one(number: int) -> int:
            credentials = base64.b64encode(f"vera:{number}".encode())
            try:
                await checks.identify({"headers": [(b"authorization", b"Basic " + credentials)]}, f"10.0.0.{number}")
            except LoginError as error:
                return error.status
            return 200

        return await asyncio.gather(*(one(number) for number in range(50)))

    found = asyncio.run(ask())
    assert found.count(401) == 32
    assert found.count(503) == 18


def test_two_sets_of_credentials_are_none(guarded: Guarded) -> None:
    client = guarded.serve()
    both = [("Authorization", basic("ada")["Authorization"]), ("Authorization", f"Bearer {TOKEN}")]
    assert client.get("/connectors", headers=both).status_code == 401
