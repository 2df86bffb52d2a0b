"""The fields of posts, users, media, places and polls that can be requested, and the meaning of `all`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, Final

ALL: Final = "all"

#: For each key, what every app may ask for. `all` stands for these.
PUBLIC: Final[Mapping[str, tuple[str, ...]]] = {
    "tweet.fields": (
        "article",
        "attachments",
        "author_id",
        "card_uri",
        "community_id",
        "context_annotations",
        "conversation_id",
        "created_at",
        "display_text_range",
        "edit_controls",
        "edit_history_tweet_ids",
        "entities",
        "geo",
        "id",
        "in_reply_to_user_id",
        "lang",
        "note_tweet",
        "possibly_sensitive",
        "public_metrics",
        "referenced_tweets",
        "reply_settings",
        "scopes",
        "source",
        "text",
        "withheld",
    ),
    "user.fields": (
        "affiliation",
        "created_at",
        "description",
        "entities",
        "id",
        "location",
        "most_recent_tweet_id",
        "name",
        "parody",
        "pinned_tweet_id",
        "profile_banner_url",
        "profile_image_url",
        "protected",
        "public_metrics",
        "subscription_type",
        "url",
        "username",
        "verified",
        "verified_followers_count",
        "verified_type",
        "withheld",
    ),
    "media.fields": (
        "alt_text",
        "duration_ms",
        "height",
        "media_key",
        "preview_image_url",
        "public_metrics",
        "type",
        "url",
        "variants",
        "width",
    ),
    "place.fields": (
        "contained_within",
        "country",
        "country_code",
        "full_name",
        "geo",
        "id",
        "name",
        "place_type",
    ),
    "poll.fields": ("duration_minutes", "end_datetime", "id", "options", "voting_status"),
    "expansions": (
        "attachments.media_keys",
        "attachments.poll_ids",
        "author_id",
        "edit_history_tweet_ids",
        "entities.mentions.username",
        "geo.place_id",
        "in_reply_to_user_id",
        "referenced_tweets.id",
        "referenced_tweets.id.author_id",
    ),
}

#: What else there is: for the author's own user context, for some access levels, or for articles and notes.
_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "tweet.fields": (
        "matched_media_notes",
        "media_metadata",
        "non_public_metrics",
        "note_request_suggestions",
        "organic_metrics",
        "paid_partnership",
        "promoted_metrics",
        "suggested_source_links",
        "suggested_source_links_with_counts",
    ),
    "user.fields": (
        "confirmed_email",
        "connection_status",
        "is_identity_verified",
        "receives_your_dm",
        "subscription",
    ),
    "media.fields": ("non_public_metrics", "organic_metrics", "promoted_metrics"),
    "expansions": (
        "article.cover_media",
        "article.media_entities",
        "attachments.media_source_tweet",
        "entities.note.mentions.username",
        "referenced_tweets.id.attachments.media_keys",
    ),
}

_NAME: Final = re.compile(r"[a-z][a-z_.]*")


def check(key: str, names: list[str]) -> None:
    """Refuse probable typing errors; an unknown name may be newer than this list.

    Raises:
        ValueError: a name is invalid, or resembles an existing one.
    """
    known = {*PUBLIC[key], *_OTHERS.get(key, ()), ALL}
    for name in names:
        if name in known:
            continue
        if not _NAME.fullmatch(name):
            raise ValueError(f'"{name}" is not the name of a field. Write names in lower case, or all.')
        if meant := difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.85):
            raise ValueError(f'"{name}" is unknown. Did you mean {meant[0]}?')


def parameters(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """The fields of every request for posts, by tweepy's parameter names."""
    asked: dict[str, list[str]] = {}
    for key, public in PUBLIC.items():
        names: list[str] = [name for name in config[key] if name]
        if ALL in names:
            names = [*public, *(name for name in names if name != ALL and name not in public)]
        if names:
            asked[key.replace(".", "_")] = names
    return asked
