"""The keys of the source, and those of Jeremy Custenborder's kafka-connect-twitter that still have a meaning."""

from __future__ import annotations

import datetime as dt
from typing import Final
from urllib.parse import urlsplit

from connect import ConfigError, settings
from connect.settings import Listed, Secret, Setting, WithoutEffect
from connectors.twitter import fields, ids

STREAM: Final = "stream"
SEARCH: Final = "search"
TIMELINES: Final = "timelines"

STRUCT: Final = "struct"
RAW: Final = "raw"
RESOLVE: Final = "resolve"
ARRAYS: Final = "arrays"

EARLIEST: Final = "earliest"
LATEST: Final = "latest"

TOKEN: Final = "twitter.bearer.token"  # noqa: S105 - the name of a key
#: A rule or query with a name of its own: twitter.rule.<name>=<rule>.
RULE_PREFIX: Final = "twitter.rule."
#: Keys of ours that begin like that.
_NO_RULES: Final = frozenset({"twitter.rule.max.length"})
#: What a connector hands to its tasks: a JSON list of rules or users.
WORK: Final = "task.work"

OAUTH: Final = (
    "twitter.oauth.consumerKey",
    "twitter.oauth.consumerSecret",
    "twitter.oauth.accessToken",
    "twitter.oauth.accessTokenSecret",
)

_ACCOUNT: Final = "Account"
_WHAT: Final = "What is read"
_STREAM: Final = "Stream"
_RECORDS: Final = "Records"
_NETWORK: Final = "Network"


def _address(name: str, value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("is not an address. Write https://api.x.com.")
    if parts.username or parts.password:
        raise ValueError("must not hold a user or a password.")


def _users(name: str, values: list[str]) -> None:
    for value in values:
        bare = value.removeprefix("@")
        if not (bare.isascii() and bare.replace("_", "").isalnum() and len(bare) <= 19):
            raise ValueError(f'"{value}" is neither the name nor the id of a user. Write XDevelopers or 2244994945.')


def _user_ids(name: str, values: list[str]) -> None:
    for value in values:
        if value and not (value.isascii() and value.isdigit() and len(value) <= 19):
            raise ValueError(f'"{value}" is not the id of a user, which is a number such as 2244994945.')


def _excludes(name: str, values: list[str]) -> None:
    for value in values:
        if value and value not in ("replies", "retweets"):
            raise ValueError(f'"{value}" cannot be left out. Write replies, retweets, or both.')


def start_id(value: str) -> int | None:
    """The id after which reading begins without an offset; None: as far back as the API goes.

    Raises:
        ValueError: it is invalid.
    """
    if value in (EARLIEST, ""):
        return None
    if value == LATEST:
        return ids.first_at(int(dt.datetime.now(dt.UTC).timestamp() * 1000)) - 1
    try:
        moment = dt.datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(
            f'"{value}" is not a beginning. Write earliest, latest or a time such as 2026-01-31T12:00:00Z.'
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return max(0, ids.first_at(int(moment.timestamp() * 1000)) - 1)


def _oauth(name: str) -> Setting[Secret | None]:
    return settings.Password(
        name,
        default=None,
        group=_ACCOUNT,
        doc="OAuth 1.0a, a user's own context: for search and timelines, with all four keys and no bearer token. The "
        "stream needs a bearer token.",
    )


def _milliseconds(name: str, default: int, doc: str, group: str = _NETWORK, least: int = 1) -> Setting[float]:
    return settings.Long(
        name,
        default=default,
        importance="LOW",
        group=group,
        validator=settings.at_least(least),
        convert=settings.seconds,
        doc=doc,
    )


def _fields(name: str, what: str, default: list[str]) -> Setting[list[str]]:
    return settings.List(
        name,
        default=default,
        group=_RECORDS,
        validator=fields.check,
        doc=f"{what} all: everything that every app may ask for.",
    )


class TwitterOptions(
    settings.Options,
    aliases={"kafka.status.topic": "topic"},
    without_effect={
        "process.deletes": WithoutEffect("API v2 tells of no deletions here", unless=("false",)),
        "kafka.delete.topic": "API v2 tells of no deletions here",
        "twitter.debug": WithoutEffect("set the level of the logger connectors.twitter instead", unless=("false",)),
    },
):
    """The keys, and what they mean together."""

    bearer_token = settings.Password(
        TOKEN,
        default=None,
        importance="HIGH",
        group=_ACCOUNT,
        doc="The app's bearer token, from the developer portal. When X refuses it the task fails; at its next start "
        "it asks a config provider again.",
    )
    oauth_consumer_key = _oauth(OAUTH[0])
    oauth_consumer_secret = _oauth(OAUTH[1])
    oauth_access_token = _oauth(OAUTH[2])
    oauth_access_token_secret = _oauth(OAUTH[3])
    topic = settings.String(
        "topic",
        importance="HIGH",
        group=_WHAT,
        validator=settings.topic_name,
        listed=Listed.TOPICS,
        doc="The topic for posts. kafka.status.topic is an alias.",
    )
    mode = settings.String(
        "twitter.mode",
        default=STREAM,
        importance="HIGH",
        group=_WHAT,
        validator=settings.one_of(STREAM, SEARCH, TIMELINES),
        doc="stream: posts that match rules, as they are made. search: the same by repeated queries, up to seven days "
        "back. timelines: the posts of users.",
    )
    rules = settings.List(
        "twitter.rules",
        default=[],
        importance="HIGH",
        group=_WHAT,
        doc="Rules of the stream, or queries of the search; their syntax is the same. A rule with a comma in it, or "
        "one that records should name, is written as twitter.rule.<name>=<rule>.",
    )
    filter_keywords = settings.List(
        "filter.keywords",
        default=[],
        importance="HIGH",
        group=_WHAT,
        doc="Words, hashtags or phrases, any of which a post must have; of several words in one entry all, in any "
        "order. They become rules.",
    )
    filter_user_ids = settings.List(
        "filter.userIds",
        default=[],
        group=_WHAT,
        validator=_user_ids,
        doc="Ids of users whose posts the source reads. They become rules from:ID; with twitter.mode=timelines they "
        "are further users.",
    )
    users = settings.List(
        "twitter.users",
        default=[],
        importance="HIGH",
        group=_WHAT,
        validator=_users,
        doc="With twitter.mode=timelines: names of the users, with or without @, or their ids. A name of digits alone "
        "needs the @.",
    )
    timeline_exclude = settings.List(
        "twitter.timeline.exclude",
        default=[],
        importance="LOW",
        group=_WHAT,
        validator=_excludes,
        doc="With twitter.mode=timelines: what to leave out, replies or retweets.",
    )
    start_id = settings.String(
        "twitter.start",
        default=EARLIEST,
        group=_WHAT,
        convert=start_id,
        doc="Where search and timelines begin without an offset: earliest (seven days back, or the last 3,200 posts "
        "of a user), latest, or a time such as 2026-01-31T12:00:00Z. The stream begins now.",
    )
    poll_interval = _milliseconds(
        "twitter.poll.interval.ms",
        60_000,
        "With search and timelines: how long after one reading of a query or a user the next one begins.",
        _WHAT,
    )
    rules_manage = settings.Boolean(
        "twitter.rules.manage",
        default=True,
        importance="LOW",
        group=_STREAM,
        doc="Whether the source keeps its rules at X, those with its tag, in step with the configuration. false: it "
        "changes no rules, and accepts posts that match any of the app's rules.",
    )
    rules_tag = settings.String(
        "twitter.rules.tag",
        default=None,
        importance="LOW",
        group=_STREAM,
        validator=settings.non_empty,
        doc="The beginning of the tags of our rules. Default: connect: and the connector's name. Two connectors of "
        "one app need two.",
    )
    rules_check_interval = _milliseconds(
        "twitter.rules.check.interval.ms",
        300_000,
        "How often to look whether our rules are still there as they should be.",
        _STREAM,
    )
    rule_max_length = settings.Int(
        "twitter.rule.max.length",
        default=512,
        importance="LOW",
        group=_STREAM,
        validator=settings.at_least(64),
        doc="The longest rule or query that the source makes from keywords, ids or rules. X allows 512 to 4,096 "
        "characters, by access level.",
    )
    stream_keepalive_timeout = _milliseconds(
        "twitter.stream.keepalive.timeout.ms",
        30_000,
        "After how long without a byte a connection is given up. X sends a line every 20 seconds at least.",
        _STREAM,
    )
    backfill_minutes = settings.Int(
        "twitter.backfill.minutes",
        default=0,
        group=_STREAM,
        validator=settings.between(0, 5),
        doc="For access levels that have it: how many minutes X sends again after a disconnection. 0: none.",
    )
    backfill_search = settings.Boolean(
        "twitter.backfill.search",
        default=True,
        group=_STREAM,
        doc="Whether search fills the gaps that X does not fill, after a disconnection or a restart.",
    )
    backfill_overlap = _milliseconds(
        "twitter.backfill.overlap.ms",
        30_000,
        "How far before the last post that came a gap begins: posts do not come in the order in which they were made.",
        _STREAM,
        0,
    )
    backfill_settle = _milliseconds(
        "twitter.backfill.settle.ms",
        35_000,
        "How long after connecting a gap is filled. Recent search finds posts after 30 seconds.",
        _STREAM,
        0,
    )
    dedup_window = settings.Int(
        "twitter.dedup.window",
        default=100_000,
        importance="LOW",
        group=_STREAM,
        validator=settings.at_least(0),
        doc="How many ids of posts the source remembers, to leave out repeated posts. About 150 bytes each.",
    )
    tweet_fields = _fields("tweet.fields", "Fields of posts.", [fields.ALL])
    user_fields = _fields("user.fields", "Fields of users.", [fields.ALL])
    media_fields = _fields("media.fields", "Fields of media.", [fields.ALL])
    place_fields = _fields("place.fields", "Fields of places.", [fields.ALL])
    poll_fields = _fields("poll.fields", "Fields of polls.", [fields.ALL])
    expansions = _fields("expansions", "Which objects come along with a post.", ["author_id"])
    record_format = settings.String(
        "twitter.record.format",
        default=STRUCT,
        group=_RECORDS,
        validator=settings.one_of(STRUCT, RAW),
        doc="struct: a struct with a schema. raw: the JSON that the API sent, as a string.",
    )
    includes = settings.String(
        "twitter.includes",
        default=RESOLVE,
        group=_RECORDS,
        validator=settings.one_of(RESOLVE, ARRAYS),
        doc="Where expanded objects stand in a struct. resolve: at the field that names them (author, media, ...). "
        "arrays: in includes, by kind, as the API has them.",
    )
    queue_empty = _milliseconds("queue.empty.ms", 100, "How long to wait for posts when there are none.", _RECORDS)
    queue_batch_size = settings.Int(
        "queue.batch.size",
        default=1000,
        importance="LOW",
        group=_RECORDS,
        validator=settings.at_least(1),
        doc="The most posts at a time. The Java connector has 100.",
    )
    queue_max_bytes = settings.Long(
        "queue.max.bytes",
        default=16 * 1024 * 1024,
        importance="LOW",
        group=_RECORDS,
        validator=settings.at_least(1024),
        doc="How many bytes of the stream may wait. At the limit the source stops reading; X disconnects a reader "
        "that is slow for long, and the source then fills the gap.",
    )
    sort_max_bytes = settings.Long(
        "twitter.sort.max.bytes",
        default=4 * 1024 * 1024,
        importance="LOW",
        group=_RECORDS,
        validator=settings.at_least(0),
        doc="The API returns the newest posts first. The source holds so many bytes of them to write the oldest "
        "first; further posts come newest first.",
    )
    base_url = settings.String(
        "twitter.base.url",
        default="https://api.x.com",
        importance="LOW",
        group=_NETWORK,
        validator=_address,
        doc="The address of the API.",
    )
    connect_timeout = _milliseconds(
        "twitter.connect.timeout.ms", 10_000, "How long a connection may take to come about."
    )
    request_timeout = _milliseconds(
        "twitter.request.timeout.ms", 30_000, "How long the API may be silent while it answers a request."
    )
    retry_attempts = settings.Int(
        "twitter.retry.attempts",
        default=-1,
        importance="LOW",
        group=_NETWORK,
        validator=settings.at_least(-1),
        doc="How often in a row the source retries after an error that may pass, before the task fails. -1: without "
        "end.",
    )
    backoff_network = _milliseconds(
        "twitter.backoff.network.ms",
        250,
        "After a network error: the pause, which grows by as much with each try. This and the next four are what X "
        "demands; an app that asks more often is blocked.",
    )
    backoff_network_max = _milliseconds(
        "twitter.backoff.network.max.ms", 16_000, "After network errors: the longest pause."
    )
    backoff_http = _milliseconds(
        "twitter.backoff.http.ms", 5_000, "After an HTTP error: the pause, which doubles with each try."
    )
    backoff_http_max = _milliseconds("twitter.backoff.http.max.ms", 320_000, "After HTTP errors: the longest pause.")
    backoff_rate_limit = _milliseconds(
        "twitter.backoff.rate.limit.ms",
        60_000,
        "After status 429 without a time of reset: the pause, which doubles with each try, up to 15 minutes.",
    )
    work = settings.String(WORK, default=None, internal=True, doc="A JSON list of the queries or users of a task.")

    def labelled_rules(self) -> dict[str, str]:
        """The values of twitter.rule.<name>, by name."""
        return {
            key[len(RULE_PREFIX) :]: str(value).strip()
            for key, value in self.config.raw.items()
            if key.startswith(RULE_PREFIX) and key not in _NO_RULES and value is not None
        }

    def check(self) -> None:
        """Check the keys together.

        Raises:
            ConfigError: keys contradict each other, or one is missing.
        """
        mode, token = self.mode, self.bearer_token
        oauth = [self.config[name] for name in OAUTH]
        if token is None or not token.reveal():
            if mode == STREAM:
                given = (
                    " The four keys twitter.oauth.* do not open the filtered stream of API v2." if any(oauth) else ""
                )
                raise ConfigError(
                    TOKEN,
                    f"is required.{given} Take the bearer token of the same app from the developer portal of X (Keys "
                    "and tokens).",
                )
            if not all(oauth):
                missing = next((name for name, value in zip(OAUTH, oauth, strict=True) if not value), OAUTH[0])
                if any(oauth):
                    raise ConfigError(missing, f"is missing: give all four keys twitter.oauth.*, or {TOKEN}.")
                raise ConfigError(TOKEN, "is required. Take it from the developer portal of X (Keys and tokens).")
        named = self.labelled_rules()
        for name, rule in named.items():
            if not rule:
                raise ConfigError(RULE_PREFIX + name, "must not be empty. Write a rule, or take the key out.")
        if mode == TIMELINES:
            if not any(self.users) and not any(self.filter_user_ids):
                raise ConfigError("twitter.users", "names nobody. Write the users whose posts are wanted.")
            return
        asked = [*self.rules, *self.filter_keywords, *self.filter_user_ids, *named]
        if not any(asked) and (mode == SEARCH or self.rules_manage):
            raise ConfigError(
                "twitter.rules",
                "says nothing, nor does filter.keywords. Write what to look for, such as #kafka lang:en.",
            )
