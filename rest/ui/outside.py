"""A cluster that is asked over HTTP: of Java workers alone, or anywhere else."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote, urlencode

from connect.http import NoAnswerError, exchange
from rest.ui.cluster import Answer, Cluster

_CONNECT_S: Final = 5.0


class OutsideCluster(Cluster):
    """One that is reached through one of its workers.

    Args:
        address: http(s)://host:port, with a path before Kafka Connect's own if there is one.
        login: the headers that say who asks; none for nobody. Whoever sees the pages asks as this user.
        tls: for https; without it whom Python trusts.
        timeout: seconds for each answer.
    """

    def __init__(self, address: str, login: Mapping[str, str], tls: ssl.SSLContext | None, timeout: float) -> None:
        self._address = address
        self._headers = {"Accept": "application/json", **login}
        self._tls = tls
        self._timeout = timeout

    async def ask(self, method: str, *path: str, body: object = None, **query: str | Sequence[str]) -> Answer:
        """See `Cluster`. No answer at all is one with the status 502."""
        return await asyncio.to_thread(self._ask, method, path, body, query)

    def _ask(self, method: str, path: Sequence[str], body: object, query: Mapping[str, str | Sequence[str]]) -> Answer:
        url = f"{self._address}/{'/'.join(quote(part, safe='') for part in path)}"
        url += f"?{urlencode(query, doseq=True)}" if query else ""
        sent = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, **({} if sent is None else {"Content-Type": "application/json"})}
        try:
            answer = exchange(
                method, url, sent, headers, timeout=self._timeout, connect_timeout=_CONNECT_S, tls=self._tls
            )
            return Answer(answer.status, json.loads(answer.content) if answer.content else None)
        except (NoAnswerError, ValueError) as error:
            return Answer(502, {"message": str(error)})
