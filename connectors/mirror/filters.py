"""Which topics, groups and settings of topics are copied: lists of names and patterns, exclusion wins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from connect.settings.java_regex import java_regex
from connectors.mirror.keys import CopyOptions
from connectors.mirror.policy import is_cycle


class NameFilter:
    """Accepts a name that one of `include` matches as a whole, and none of `exclude`.

    Args:
        include, exclude: names or Java's regular expressions.
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = _any_of(include)
        self._exclude = _any_of(exclude)

    def __call__(self, name: str) -> bool:
        return bool(self._include.fullmatch(name)) and not self._exclude.fullmatch(name)


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return java_regex("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else re.compile(r"(?!)")


class TopicFilter:
    """Which topics of the source are copied: selected ones, never internal ones, nor those copied from the target."""

    def __init__(self, options: CopyOptions) -> None:
        self._named = NameFilter(options.topics, options.topics_excluded)
        self._policy = options.policy
        self._target = options.target_alias
        self._heartbeats = options.heartbeats_copied

    def __call__(self, topic: str) -> bool:
        wanted = self._named(topic) or (self._heartbeats and self._policy.is_heartbeats(topic))
        return wanted and not self._policy.is_internal(topic) and not is_cycle(self._policy, topic, self._target)
