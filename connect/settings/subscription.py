"""What a sink connector consumes: `topics` or `topics.regex`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from connect.errors import ConfigError
from connect.settings.java_regex import java_regex
from connect.settings.raw import comma_separated


def topics_or_pattern(connector: Mapping[str, str]) -> list[str] | str:
    """The names of topics that a sink consumes, or its pattern as it is written.

    Raises:
        ConfigError: neither or both are given.
    """
    topics = comma_separated(connector.get("topics"))
    pattern = connector.get("topics.regex", "")
    if bool(topics) == bool(pattern):
        raise ConfigError("topics", "give either topics or topics.regex, and not both.")
    return topics or pattern


def subscription(connector: Mapping[str, str]) -> list[str] | re.Pattern[str]:
    """The names of topics that a sink consumes, or its pattern. For the sink's own process: a pattern may run long.

    Raises:
        ConfigError: neither or both are given, or the pattern is broken.
    """
    found = topics_or_pattern(connector)
    try:
        return java_regex(found) if isinstance(found, str) else found
    except ValueError as error:
        raise ConfigError("topics.regex", str(error)) from None
