"""Objects beside posts: users, media, places, polls and other posts, each once in a response."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]


class Includes:
    """The objects of one response, by the references of posts."""

    def __init__(self, includes: Any) -> None:
        found = includes if isinstance(includes, Mapping) else {}
        self._users = _by("id", found.get("users"))
        self._by_name = {name.lower(): user for name, user in _by("username", found.get("users")).items()}
        self._tweets = _by("id", found.get("tweets"))
        self._media = _by("media_key", found.get("media"))
        self._polls = _by("id", found.get("polls"))
        self._places = _by("id", found.get("places"))

    def user(self, user_id: Any) -> Json | None:
        """A user by its id."""
        return self._users.get(str(user_id))

    def tweet(self, tweet_id: Any) -> Json | None:
        """A post by its id."""
        return self._tweets.get(str(tweet_id))

    def place(self, tweet: Mapping[str, Any]) -> Json | None:
        """The place of a post."""
        return self._places.get(str(_get(tweet, "geo", "place_id")))

    def media(self, tweet: Mapping[str, Any]) -> list[Json]:
        """The media of a post."""
        return _found(self._media, _get(tweet, "attachments", "media_keys"))

    def polls(self, tweet: Mapping[str, Any]) -> list[Json]:
        """The polls of a post."""
        return _found(self._polls, _get(tweet, "attachments", "poll_ids"))

    def mentioned(self, tweet: Mapping[str, Any]) -> list[Json]:
        """The users whom a post mentions."""
        names = [str(each.get("username")).lower() for each in _objects(_get(tweet, "entities", "mentions"))]
        return _found(self._by_name, names)

    def resolved(self, tweet: Json) -> Json:
        """A post with its references replaced by the objects."""
        more: Json = {
            "author": self.user(tweet.get("author_id")),
            "in_reply_to_user": self.user(tweet.get("in_reply_to_user_id")),
            "mentioned_users": self.mentioned(tweet) or None,
            "media": self.media(tweet) or None,
            "polls": self.polls(tweet) or None,
            "place": self.place(tweet),
        }
        if isinstance(tweet.get("referenced_tweets"), list):
            more["referenced_tweets"] = [self._reference(each) for each in _objects(tweet["referenced_tweets"])]
        return {**tweet, **more}

    def of(self, tweet: Json) -> Json:
        """The objects that this post references, or one that it refers to, by the API's kinds."""
        referenced = [
            other for each in _objects(tweet.get("referenced_tweets")) if (other := self.tweet(each.get("id")))
        ]
        posts = [tweet, *referenced]
        kinds: dict[str, list[Json]] = {"users": [], "tweets": referenced, "media": [], "polls": [], "places": []}
        for post in posts:
            users = [self.user(post.get("author_id")), self.user(post.get("in_reply_to_user_id"))]
            kinds["users"] += [*filter(None, users), *self.mentioned(post)]
            kinds["media"] += self.media(post)
            kinds["polls"] += self.polls(post)
            kinds["places"] += filter(None, [self.place(post)])
        return {kind: list({id(each): each for each in found}.values()) for kind, found in kinds.items() if found}

    def _reference(self, reference: Json) -> Json:
        tweet = self.tweet(reference.get("id"))
        if tweet is None:
            return reference
        author, media = self.user(tweet.get("author_id")), self.media(tweet) or None
        return {**reference, "tweet": tweet, "author": author, "media": media}


def _by(key: str, found: Any) -> dict[str, Json]:
    return {name: each for each in _objects(found) if isinstance(name := each.get(key), str)}


def _objects(found: Any) -> Iterable[Json]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _get(value: Mapping[str, Any], outer: str, inner: str) -> Any:
    found = value.get(outer)
    return found.get(inner) if isinstance(found, Mapping) else None


def _found(objects: Mapping[str, Json], names: Any) -> list[Json]:
    return [objects[name] for name in map(str, names) if name in objects] if isinstance(names, list) else []
