"""A client for a server, by the keys."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any

from connect import ConfigError
from connect.api.metrics import PluginMetrics
from connect.kafka.clients.tls import client_tls_context
from connect.kit import (
    ClientCredentials,
    HeaderLogin,
    Login,
    RateLimit,
    RestClient,
    RetryBudget,
    credentials_provider,
    user_and_password,
)
from connectors.http.connection.keys import API_KEY, BASIC, OAUTH2, STATIC, ServerOptions


def made_client(
    options: ServerOptions,
    url: str,
    config: Mapping[str, str],
    metrics: PluginMetrics,
    *,
    limits: RateLimit | None = None,
    retries: RetryBudget | None = None,
    stopping: Callable[[], bool] = lambda: False,
    **more: Any,
) -> RestClient:
    """The client for the server of a URL.

    Args:
        config: of the task, secrets filled in: a user's class finds its keys there.
        limits: of the server, where several clients share them; by default those of the keys.
        more: see `RestClient`.

    Raises:
        ConfigError: keys contradict each other, or a store or a class cannot be loaded.
    """
    options.check()
    encrypted = any(each.startswith("https:") for each in (url, options.token_url or ""))
    tls = _tls(options) if encrypted else None

    def seen(status: int, seconds: float) -> None:
        metrics.observe("http_request_seconds", seconds)
        metrics.count("http_requests_total", 1, status=str(status or "none"))

    return RestClient(
        url,
        login=_login(options, config, tls),
        headers=options.headers,
        limits=limits or RateLimit(options.per_second),
        retries=retries,
        stopping=stopping,
        timeout=float(options.timeout),
        connect_timeout=options.connect_timeout,
        tls=tls,
        proxy=options.proxy,
        seen=seen,
        **more,
    )


def _login(options: ServerOptions, config: Mapping[str, str], tls: ssl.SSLContext | None) -> Login | None:
    kind = options.authorization
    if kind in (STATIC, API_KEY):
        name = options.header or ("Authorization" if kind == STATIC else "X-API-Key")
        if options.provider:
            provider = credentials_provider("http.authorization.class", options.provider, config)
            return HeaderLogin(name, provider.credentials)
        assert options.secret is not None
        return HeaderLogin(name, options.secret.reveal().strip())
    if kind == BASIC:
        assert options.password is not None
        return user_and_password(options.username or "", options.password.reveal())
    if kind == OAUTH2:
        assert options.client_secret is not None
        return ClientCredentials(
            options.token_url or "",
            options.client_id or "",
            options.client_secret.reveal(),
            scope=options.scope,
            in_body=options.mode == "URL",
            form={options.name_of_grant_type: options.grant_type},
            names={
                "grant_type": options.name_of_grant_type,
                "client_id": options.name_of_client_id,
                "client_secret": options.name_of_client_secret,
                "access_token": options.name_of_token,
            },
            tls=tls,
            proxy=options.proxy,
            timeout=float(options.timeout),
        )
    return None


def _tls(options: ServerOptions) -> ssl.SSLContext:
    # Not Python's own context: it refuses since 3.13 what Java takes of private authorities.
    try:
        context = client_tls_context(options.tls)
    except ConfigError as error:
        raise ConfigError(f"http.{error.key}", error.message) from error
    if options.trust_all:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
