"""A connector's configuration holds so much and no more."""

import pytest

from connect.settings.limits import LONGEST_KEY, LONGEST_NAME, LONGEST_VALUE, MOST_BYTES, excess, within_limits
from connect.settings.validators import connector_name, unique


def test_what_is_at_its_limit_is_taken() -> None:
    config = {"k" * LONGEST_KEY: "", "value": "v" * LONGEST_VALUE}
    assert excess(config) == []
    assert within_limits(config) == config
    connector_name("name", "n" * LONGEST_NAME)


def test_a_key_that_is_too_long_is_shown_shortened_and_not_looked_at() -> None:
    config = {"k" * (LONGEST_KEY + 1): "v", "topics": "a"}
    ((key, message),) = excess(config)
    assert key == "k" * 40 + "..."
    assert "1,025 characters" in message
    assert within_limits(config) == {"topics": "a"}


def test_a_value_that_is_too_long_is_not_looked_at() -> None:
    config = {"schema": "v" * (LONGEST_VALUE + 1), "topics": "a"}
    ((key, message),) = excess(config)
    assert key == "schema"
    assert "524,289 characters" in message
    assert within_limits(config) == {"topics": "a"}


def test_all_together_fit_into_a_record_of_kafka() -> None:
    config = {f"key-{number}": "ä" * 100_000 for number in range(5)}
    ((key, message),) = excess(config)
    assert key == "name"
    assert "1,000,025 bytes" in message
    assert f"{MOST_BYTES:,}" in message


def test_null_is_as_long_as_nothing() -> None:
    assert excess({"topics": None}) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("n" * (LONGEST_NAME + 1), "has 256 bytes in UTF-8. Up to 255 may be."),
        ("ä" * 128, "has 256 bytes in UTF-8. Up to 255 may be."),
        ("a\ud800", "half of a surrogate pair"),
        ("a\x1b[31m", "control character"),
        ("", "must not be empty"),
    ],
)
def test_a_name_that_a_cluster_could_not_hold_is_refused(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        connector_name("name", name)


def test_a_list_takes_no_longer_than_it_is_long() -> None:
    """As many aliases of transformations as a value has room for; compared with each other they took minutes."""
    names = [f"{number:x}" for number in range(250_000)]
    unique("transforms", names)
    with pytest.raises(ValueError, match='names "3d08f" twice'):
        unique("transforms", [*names, "3d08f"])
