"""What a sink connector consumes: `topics` or `topics.regex`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from connect.errors import ConfigError
from connect.settings.java_regex import java_regex


def subscription(connector: Mapping[str, str]) -> list[str] | re.Pattern[str]:
    """What a sink consumes: `topics` or `topics.regex`.

    Raises:
        ConfigError: neither or both are given, or the pattern is broken.
    """
    topics = [name.strip() for name in connector.get("topics", "").split(",") if name.strip()]
    pattern = connector.get("topics.regex", "")
    if bool(topics) == bool(pattern):
        raise ConfigError("topics", "give either topics or topics.regex, and not both.")
    try:
        return topics or java_regex(pattern)
    except ValueError as error:
        raise ConfigError("topics.regex", str(error)) from None
