"""How to log in to a server: PyMySQL's options, with TLS."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from connect import ConfigError
from connectors.jdbc.mysql_capture.keys import CaptureOptions


def connection_options(config: Mapping[str, Any], timeout: float | None = None) -> dict[str, Any]:
    """What `connected` takes, of a configuration: secrets filled in.

    Args:
        timeout: how many seconds to wait for the server, instead of connect.timeout.ms.

    Raises:
        ConfigError: a key is missing or wrong, or a file for TLS cannot be read.
    """
    chosen = CaptureOptions.parse(config)
    options: dict[str, Any] = {
        "host": chosen.database_hostname,
        "port": chosen.database_port,
        "user": chosen.database_user,
        # As bytes: what is not in latin1 would be an error otherwise, whose text tells a letter of it.
        "password": str(config.get("database.password") or "").encode(),
        "connect_timeout": timeout or chosen.connect_timeout,
    }
    if chosen.ssl_mode == "disabled":
        return options | {"ssl_disabled": True}
    context = _tls(chosen, str(config.get("database.ssl.key.password") or ""))
    return options | {"ssl": context, "tls_required": chosen.ssl_mode != "preferred"}


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # no file can have this name
        return False


def _tls(chosen: CaptureOptions, key_password: str) -> ssl.SSLContext:
    for key, file in (
        ("database.ssl.ca", chosen.ssl_ca),
        ("database.ssl.cert", chosen.ssl_cert),
        ("database.ssl.key", chosen.ssl_key),
    ):
        if file and not _is_file(file):
            raise ConfigError(key, f'"{file[:200]}" is not a file that can be read.')
    try:
        if chosen.ssl_mode in ("preferred", "required"):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        else:
            context = ssl.create_default_context(cafile=chosen.ssl_ca)
            context.check_hostname = chosen.ssl_mode == "verify_identity"
        if chosen.ssl_cert:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(chosen.ssl_cert, chosen.ssl_key, key_password)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError("database.ssl.mode", f"the files for TLS cannot be read: {error}") from error
    return context
