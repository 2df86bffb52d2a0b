"""Schemas of posts, users, media, places and polls: what API v2 sends to every app. All but the id is optional."""

from __future__ import annotations

from typing import Final

from connect import Schema
from connect.data import logical
from connect.data.schema import OPTIONAL_BOOLEAN, OPTIONAL_FLOAT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING

_TEXT: Final = OPTIONAL_STRING
_COUNT: Final = OPTIONAL_INT64
_FLAG: Final = OPTIONAL_BOOLEAN
_TIME: Final = logical.TIMESTAMP.as_optional()


def _struct(**fields: Schema) -> Schema:
    return Schema.struct(fields, optional=True)


def _named(kind: str, /, **fields: Schema) -> Schema:
    return Schema.struct(fields, optional=True, name=f"connect.twitter.{kind}", version=1)


def _list(element: Schema) -> Schema:
    return Schema.array(element.as_optional(), optional=True)


def _texts() -> Schema:
    return Schema.array(STRING, optional=True)


def _counts(*names: str) -> Schema:
    return _struct(**dict.fromkeys(names, _COUNT))


def _span(**fields: Schema) -> Schema:
    return _struct(start=_COUNT, end=_COUNT, **fields)


_WITHHELD: Final = _struct(copyright=_FLAG, country_codes=_texts(), scope=_TEXT)
_URLS: Final = _list(
    _span(
        url=_TEXT,
        expanded_url=_TEXT,
        display_url=_TEXT,
        unwound_url=_TEXT,
        media_key=_TEXT,
        status=_COUNT,
        title=_TEXT,
        description=_TEXT,
        images=_list(_struct(url=_TEXT, width=_COUNT, height=_COUNT)),
    )
)
_MENTIONS: Final = _list(_span(username=_TEXT, id=_TEXT))
_ENTITIES: Final = _struct(
    urls=_URLS,
    hashtags=_list(_span(tag=_TEXT)),
    cashtags=_list(_span(tag=_TEXT)),
    mentions=_MENTIONS,
    annotations=_list(_span(probability=OPTIONAL_FLOAT64, type=_TEXT, normalized_text=_TEXT)),
)
_CONTEXT: Final = _struct(id=_TEXT, name=_TEXT, description=_TEXT)

USER: Final = _named(
    "User",
    id=_TEXT,
    name=_TEXT,
    username=_TEXT,
    created_at=_TIME,
    description=_TEXT,
    location=_TEXT,
    url=_TEXT,
    profile_image_url=_TEXT,
    profile_banner_url=_TEXT,
    pinned_tweet_id=_TEXT,
    most_recent_tweet_id=_TEXT,
    protected=_FLAG,
    verified=_FLAG,
    verified_type=_TEXT,
    verified_followers_count=_COUNT,
    is_identity_verified=_FLAG,
    parody=_FLAG,
    subscription_type=_TEXT,
    public_metrics=_counts(
        "followers_count", "following_count", "tweet_count", "listed_count", "like_count", "media_count"
    ),
    affiliation=_struct(badge_url=_TEXT, description=_TEXT, url=_TEXT, user_id=_texts()),
    entities=_struct(url=_struct(urls=_URLS), description=_ENTITIES),
    withheld=_WITHHELD,
)

MEDIA: Final = _named(
    "Media",
    media_key=_TEXT,
    type=_TEXT,
    url=_TEXT,
    preview_image_url=_TEXT,
    alt_text=_TEXT,
    width=_COUNT,
    height=_COUNT,
    duration_ms=_COUNT,
    public_metrics=_counts("view_count"),
    variants=_list(_struct(bit_rate=_COUNT, content_type=_TEXT, url=_TEXT)),
)

POLL: Final = _named(
    "Poll",
    id=_TEXT,
    duration_minutes=_COUNT,
    end_datetime=_TIME,
    voting_status=_TEXT,
    options=_list(_struct(position=_COUNT, label=_TEXT, votes=_COUNT)),
)

PLACE: Final = _named(
    "Place",
    id=_TEXT,
    full_name=_TEXT,
    name=_TEXT,
    country=_TEXT,
    country_code=_TEXT,
    place_type=_TEXT,
    contained_within=_texts(),
    geo=_struct(type=_TEXT, bbox=Schema.array(OPTIONAL_FLOAT64, optional=True)),
)

#: What is in a post itself, also where it stands in another.
_POST: Final[dict[str, Schema]] = {
    "id": STRING,
    "text": _TEXT,
    "created_at": _TIME,
    "author_id": _TEXT,
    "conversation_id": _TEXT,
    "in_reply_to_user_id": _TEXT,
    "lang": _TEXT,
    "source": _TEXT,
    "possibly_sensitive": _FLAG,
    "reply_settings": _TEXT,
    "community_id": _TEXT,
    "card_uri": _TEXT,
    "display_text_range": Schema.array(OPTIONAL_INT64, optional=True),
    "edit_history_tweet_ids": _texts(),
    "edit_controls": _struct(edits_remaining=_COUNT, is_edit_eligible=_FLAG, editable_until=_TIME),
    "public_metrics": _counts(
        "retweet_count", "reply_count", "like_count", "quote_count", "bookmark_count", "impression_count"
    ),
    "attachments": _struct(media_keys=_texts(), poll_ids=_texts(), media_source_tweet_id=_texts()),
    "entities": _ENTITIES,
    "context_annotations": _list(_struct(domain=_CONTEXT, entity=_CONTEXT)),
    "geo": _struct(
        place_id=_TEXT,
        coordinates=_struct(type=_TEXT, coordinates=Schema.array(OPTIONAL_FLOAT64, optional=True)),
    ),
    "note_tweet": _struct(text=_TEXT, entities=_ENTITIES),
    "article": _struct(title=_TEXT, preview_text=_TEXT, plain_text=_TEXT),
    "scopes": _struct(followers=_FLAG),
    "withheld": _WITHHELD,
}
_REFERENCE: Final[dict[str, Schema]] = {"type": _TEXT, "id": _TEXT}
_PLAIN_POST: Final = _named("Referenced", **_POST, referenced_tweets=_list(_struct(**_REFERENCE)))
_RULES: Final = _list(_struct(id=_TEXT, tag=_TEXT))

#: Objects that came along stand where they are named.
RESOLVED: Final = Schema.struct(
    {
        **_POST,
        "referenced_tweets": _list(
            _struct(**_REFERENCE, tweet=_PLAIN_POST, author=USER, media=Schema.array(MEDIA, optional=True))
        ),
        "author": USER,
        "in_reply_to_user": USER,
        "mentioned_users": Schema.array(USER, optional=True),
        "media": Schema.array(MEDIA, optional=True),
        "polls": Schema.array(POLL, optional=True),
        "place": PLACE,
        "matching_rules": _RULES,
    },
    name="connect.twitter.Tweet",
    version=1,
)

#: Objects that came along stand in lists by kind.
WITH_ARRAYS: Final = Schema.struct(
    {
        **_POST,
        "referenced_tweets": _list(_struct(**_REFERENCE)),
        "includes": _struct(
            users=Schema.array(USER, optional=True),
            tweets=Schema.array(_PLAIN_POST, optional=True),
            media=Schema.array(MEDIA, optional=True),
            polls=Schema.array(POLL, optional=True),
            places=Schema.array(PLACE, optional=True),
        ),
        "matching_rules": _RULES,
    },
    name="connect.twitter.TweetWithIncludes",
    version=1,
)
