"""JSON of the API into structs: nothing that X sends costs a post."""

import datetime as dt
import threading
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as some

from connect.data.validation import validate
from connectors.twitter.inbox import Closed, Inbox
from connectors.twitter.includes import Includes
from connectors.twitter.records import fit
from connectors.twitter.schemas import RESOLVED, WITH_ARRAYS

POST = {
    "id": "1460323737035677698",
    "text": "Hello @bob",
    "created_at": "2021-11-15T19:08:05.000Z",
    "author_id": "12",
    "in_reply_to_user_id": "13",
    "public_metrics": {"like_count": 3, "retweet_count": 0},
    "entities": {"mentions": [{"start": 6, "end": 10, "username": "Bob", "id": "13"}]},
    "attachments": {"media_keys": ["3_1", "3_2"], "poll_ids": ["9"]},
    "geo": {"place_id": "abc", "coordinates": {"type": "Point", "coordinates": [1, 2.5]}},
    "referenced_tweets": [{"type": "quoted", "id": "7"}, {"type": "replied_to", "id": "404"}],
}
INCLUDES = {
    "users": [{"id": "12", "username": "alice"}, {"id": "13", "username": "bob"}, {"id": "99", "username": "other"}],
    "media": [{"media_key": "3_1", "type": "photo"}, {"media_key": "5", "type": "video"}],
    "polls": [{"id": "9", "options": [{"position": 1, "label": "yes", "votes": 2}]}],
    "places": [{"id": "abc", "full_name": "Berlin", "geo": {"bbox": [1, 2, 3, 4]}}],
    "tweets": [{"id": "7", "text": "before", "author_id": "99"}, {"id": "8", "text": "not named"}],
}


def test_objects_stand_where_they_are_named() -> None:
    misfits: list[str] = []
    made = fit(RESOLVED)(Includes(INCLUDES).resolved(POST), misfits)
    validate(RESOLVED, made)
    assert misfits == []
    assert made["created_at"] == dt.datetime(2021, 11, 15, 19, 8, 5, tzinfo=dt.UTC)
    assert made["author"]["username"] == "alice"
    assert made["in_reply_to_user"]["username"] == "bob"
    assert [user["username"] for user in made["mentioned_users"]] == ["bob"]
    assert [media["media_key"] for media in made["media"]] == ["3_1"]
    assert made["polls"][0]["options"][0]["votes"] == 2
    assert made["place"]["geo"]["bbox"] == [1.0, 2.0, 3.0, 4.0]
    quoted, replied = made["referenced_tweets"]
    assert quoted["tweet"]["text"] == "before"
    assert quoted["author"]["username"] == "other"
    assert replied == {"type": "replied_to", "id": "404", "tweet": None, "author": None, "media": None}


def test_arrays_hold_what_a_post_names_and_no_more() -> None:
    includes = Includes(INCLUDES).of(POST)
    made = fit(WITH_ARRAYS)({**POST, "includes": includes}, [])
    validate(WITH_ARRAYS, made)
    assert [user["id"] for user in made["includes"]["users"]] == ["12", "13", "99"]
    assert [tweet["id"] for tweet in made["includes"]["tweets"]] == ["7"]
    assert [media["media_key"] for media in made["includes"]["media"]] == ["3_1"]


def test_what_does_not_fit_is_null_and_told() -> None:
    odd = {"id": "1", "text": {"a": 1}, "lang": 7, "created_at": "yesterday", "public_metrics": [], "new": 1}
    misfits: list[str] = []
    made = fit(RESOLVED)(odd, misfits)
    validate(RESOLVED, made)
    assert (made["text"], made["lang"], made["created_at"], made["public_metrics"]) == (None, "7", None, None)
    assert Counter(misfits) == Counter(["tweet.text", "tweet.created_at", "tweet.public_metrics"])


JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-(1 << 70), 1 << 70) | some.floats() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
FIELDS = some.fixed_dictionaries(
    {"id": some.just("1")},
    optional={field.name: JSON for field in (*RESOLVED.fields, *WITH_ARRAYS.fields) if field.name != "id"},
)


@limits(max_examples=40)
@given(FIELDS, some.dictionaries(some.sampled_from(["users", "tweets", "media", "polls", "places"]), JSON))
def test_whatever_comes_fits_its_schema(post: dict[str, Any], includes: Any) -> None:
    found = Includes(includes)
    validate(RESOLVED, fit(RESOLVED)(found.resolved(post), []))
    validate(WITH_ARRAYS, fit(WITH_ARRAYS)({**post, "includes": found.of(post)}, []))


def test_a_full_inbox_makes_the_reader_wait() -> None:
    inbox = Inbox(100)
    assert inbox.put(b"x" * 60)
    assert inbox.put(Closed(None, opened=True)), "word of a connection is never kept out"
    waiting = threading.Thread(target=inbox.put, args=(b"y" * 60,), daemon=True)
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    assert inbox.bytes == 60
    assert inbox.take(1, 1000, 0) == [b"x" * 60]
    waiting.join(10)
    assert not waiting.is_alive()
    assert len(inbox.take(10, 1000, 0)) == 2


def test_a_line_longer_than_the_inbox_passes_alone() -> None:
    inbox = Inbox(10)
    assert inbox.put(b"x" * 60)
    assert inbox.take(10, 1, 0) == [b"x" * 60]


def test_a_closed_inbox_lets_everybody_go() -> None:
    inbox = Inbox(10)
    inbox.put(b"x" * 10)
    waiting = threading.Thread(target=inbox.put, args=(b"y",), daemon=True)
    waiting.start()
    inbox.close()
    waiting.join(10)
    assert not waiting.is_alive()
    assert not inbox.put(b"z")


@pytest.mark.parametrize("most", [1, 3])
def test_what_is_taken_is_bounded_in_bytes(most: int) -> None:
    inbox = Inbox(1000)
    for _ in range(5):
        inbox.put(b"x" * 40)
    assert len(inbox.take(most, 100, 0)) == min(most, 2)


def test_an_object_without_its_id_is_no_object() -> None:
    misfits: list[str] = []
    post = {"id": "1", "referenced_tweets": [{"type": "quoted", "id": "2"}, {}]}
    includes = Includes({"tweets": [{"id": "2", "text": 3}, {"text": "without"}], "users": [{"username": "nobody"}]})
    made = fit(RESOLVED)(includes.resolved(post), misfits)
    validate(RESOLVED, made)
    assert [each["tweet"] and each["tweet"]["id"] for each in made["referenced_tweets"]] == ["2", None]
    assert fit(WITH_ARRAYS)({**post, "includes": {"tweets": [{"text": "without"}]}}, misfits)["includes"] == {
        **dict.fromkeys(["users", "media", "polls", "places"]),
        "tweets": [None],
    }
