"""Which settings of a connector are secret, and what is shown in their place.

A secret is what the plug-in declares as PASSWORD, a key whose name suggests it, and a password inside of a URL.
Variables of config providers (`${file:/etc/orders:password}`) are shown: they are not secrets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from connect.telemetry.redaction import MASK, names_a_secret, redactor
from connect.telemetry.redaction import shown as shown_if

# These name a place or a class where secrets come from: basic.auth.credentials.source=USER_INFO.
_NAMES_WHERE = re.compile(r"[._-](?:source|provider|class|path|file|location|type|alias)$", re.IGNORECASE)


def is_named_one(key: str) -> bool:
    """Whether the name of an undeclared key says that a secret itself stands there, not where to find one."""
    return names_a_secret(key) and not _NAMES_WHERE.search(key)


def shown(key: str, value: str, declared: Collection[str] = ()) -> str:
    """The value in a form that may be shown. `declared` are the keys that are known to be PASSWORD."""
    return shown_if(value, secret=key in declared or names_a_secret(key))


def all_shown(config: Mapping[str, str], declared: Collection[str] = ()) -> dict[str, str]:
    """A whole configuration in a form that may be shown."""
    return {key: shown(key, value, declared) for key, value in config.items()}


def remember(config: Mapping[str, str], declared: Collection[str] = ()) -> None:
    """Hide the secrets of a configuration also in a worker's messages about it."""
    redactor.remember(value for key, value in config.items() if value and shown(key, value, declared) == MASK)
