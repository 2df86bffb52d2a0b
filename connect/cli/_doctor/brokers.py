"""Brokers, one step after the other: DNS, TCP, TLS, the versions of requests, the login, authorization.

The first four steps are done here for each address of bootstrap.servers, the others by the client that a worker uses.
"""

from __future__ import annotations

import datetime as dt
import socket
import ssl
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from connect.cli._doctor.certificates import validity
from connect.cli._doctor.finding import Finding, Level, error, of_message, ok
from connect.cli._doctor.network import StepError, place_of, reached
from connect.cli._doctor.subject import Subject
from connect.cli._exit import UNREACHABLE
from connect.cli._table import counted
from connect.kafka.admin.answers import NO_ANSWER, AdminError
from connect.kafka.admin.inspection import Cluster, Inspection
from connect.kafka.clients.errors import NotLetInError
from connect.kafka.clients.java_rules import listed
from connect.kafka.clients.tls import client_tls_context

#: ApiVersions, version 0, correlation id 0, without a client id: every broker answers it before any login.
API_VERSIONS: Final = bytes.fromhex("0000000a 0012 0000 00000000 ffff")
_MOST_BYTES: Final = 1 << 16
_TLS_ALERT: Final = b"\x15\x03"
_SERVERS: Final = "bootstrap.servers"


@dataclass(frozen=True)
class Reached:
    """A cluster that accepted the login: its client, its description, and the security protocol."""

    admin: Inspection
    cluster: Cluster
    protocol: str


def reach(subject: Subject, java: Mapping[str, str]) -> Generator[Finding, None, Reached | None]:
    """Try every address of `bootstrap.servers`, then log in. None where no broker accepts that.

    Args:
        java: settings of an admin client, under Java's keys.
    """
    protocol = java.get("security.protocol", "PLAINTEXT").strip().upper()
    tried = [list(_steps(server, java, protocol, subject.timeout)) for server in listed(java[_SERVERS])]
    answering = [found for found in tried if all(each.level is not Level.ERROR for each in found)]
    for finding in (each for found in tried for each in found):
        # As long as another one answers, a worker starts.
        hurts = answering and finding.level is Level.ERROR
        yield replace(finding, level=Level.WARNING) if hurts else finding
    if not answering:
        return None
    admin = Inspection(java, "connect-doctor", subject.timeout)
    what = java[_SERVERS]
    try:
        cluster = admin.cluster()
    except (NotLetInError, AdminError) as problem:
        admin.close()
        yield _refused(subject, what, protocol, problem)
        return None
    return Reached(admin, cluster, protocol)


def check(subject: Subject, reached_cluster: Reached) -> Iterator[Finding]:
    """The cluster as a whole, and the addresses that its brokers advertise."""
    cluster, protocol = reached_cluster.cluster, reached_cluster.protocol
    login = " with this login" if protocol.startswith("SASL") else ""
    yield ok(
        "the cluster", f"answers by {protocol}{login}: id {cluster.id}, {counted(len(cluster.brokers), 'broker')}."
    )
    for broker in cluster.brokers:
        what = f"broker {broker.id}: {broker.host}:{broker.port}"
        try:
            reached(broker.host, broker.port, subject.timeout).close()
        except StepError as problem:
            said = f"{problem.step}: the broker tells clients this address, and {problem.found}"
            advice = f"{problem.advice} Or correct advertised.listeners of the broker."
            yield error(what, said, advice, UNREACHABLE)
        else:
            yield ok(what, "takes connections at the address that it tells clients.")


def _steps(server: str, java: Mapping[str, str], protocol: str, timeout: float) -> Iterator[Finding]:
    what = f"broker {server}"
    place = place_of(server)
    if place is None:
        yield error(what, "DNS: this is not a host:port.", "Write something like host:9092.", UNREACHABLE)
        return
    try:
        connection = reached(*place, timeout)
    except StepError as problem:
        yield error(what, f"{problem.step}: {problem.found}", problem.advice, UNREACHABLE)
        return
    with connection:
        if not protocol.endswith("SSL"):
            yield _answers(what, connection, protocol, timeout)
            return
        context = client_tls_context(java)
        try:
            with context.wrap_socket(connection, server_hostname=place[0]) as secured:
                yield from _certificate_of(what, secured)
                yield _answers(what, secured, protocol, timeout)
        except (OSError, ssl.SSLError) as problem:
            yield _tls_problem(what, problem, timeout)


def _certificate_of(what: str, secured: ssl.SSLSocket) -> Iterator[Finding]:
    shown = secured.getpeercert() or {}
    if end := shown.get("notAfter"):
        moment = dt.datetime.fromtimestamp(ssl.cert_time_to_seconds(str(end)), dt.UTC)
        found = validity(what, "the broker", moment)
        if found.level is not Level.OK:
            yield found


def _tls_problem(what: str, problem: OSError, timeout: float) -> Finding:
    """Why a handshake failed."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        said = f"TLS: the broker's certificate is not trusted ({problem.verify_message})."
        advice = (
            "Put the certificate of its authority into the trust store (ssl.truststore.location); the names in"
            f" {_SERVERS} must be in the broker's own certificate."
        )
        return error(what, said, advice, UNREACHABLE)
    if isinstance(problem, TimeoutError):
        said = f"TLS: the broker takes the connection, and answers nothing within {timeout:g} s."
        return error(
            what, said, "Check that this is the port of a TLS listener, and that the broker works.", UNREACHABLE
        )
    reason = getattr(problem, "reason", None) or problem.strerror or str(problem)
    if (
        "WRONG_VERSION" in str(reason)
        or "RECORD" in str(reason)
        or isinstance(problem, ConnectionError | ssl.SSLEOFError)
    ):
        said = f"TLS: what listens there does not speak TLS, or hangs up ({reason})."
        advice = "Set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or write the port of the TLS listener."
        return error(what, said, advice, UNREACHABLE)
    advice = "If the broker wants a certificate of ours, check ssl.keystore.*; else compare ssl.enabled.protocols."
    return error(what, f"TLS: the handshake failed ({reason}).", advice, UNREACHABLE)


def _answers(what: str, connection: socket.socket, protocol: str, timeout: float) -> Finding:
    """Whether Kafka answers the first request of every client."""
    switch = "Set security.protocol to that of this listener, such as SSL or SASL_SSL, or take another port."
    try:
        connection.sendall(API_VERSIONS)
        answer = _read(connection)
    except TimeoutError:
        said = f"it takes connections, and answers nothing within {timeout:g} s."
        return error(
            what, f"Kafka: {said}", "Check that this is a broker's port, and that the broker works.", UNREACHABLE
        )
    except ssl.SSLError as problem:
        said = f"TLS: the broker ended the connection ({problem.reason or problem})."
        return error(what, said, "It may want a certificate of ours: check ssl.keystore.*.", UNREACHABLE)
    except OSError as problem:
        said = f"Kafka: the connection ended at the first request ({problem.strerror or problem})."
        return error(what, said, switch, UNREACHABLE)
    if answer.startswith(_TLS_ALERT):
        return error(what, "TLS: this listener speaks TLS, and we do not.", switch, UNREACHABLE)
    if not answer and not protocol.endswith("SSL"):
        said = "Kafka: it hangs up at the first request, as a TLS listener does where a client speaks no TLS."
        return error(what, said, switch, UNREACHABLE)
    if len(answer) < 14 or answer[4:8] != bytes(4):
        return error(what, "Kafka: what listens there is no broker.", f"Correct {_SERVERS}.", UNREACHABLE)
    kinds = int.from_bytes(answer[10:14], "big")
    steps = "TCP, TLS and API versions are" if protocol.endswith("SSL") else "TCP and API versions are"
    return ok(what, f"{steps} well: it knows {counted(kinds, 'kind')} of requests.")


def _read(connection: socket.socket) -> bytes:
    """One response: four bytes with its length, then its bytes. Less where it ends before, or is not Kafka's."""
    found = b""
    wanted = 4
    while len(found) < wanted:
        piece = connection.recv(_MOST_BYTES)
        if not piece:
            break
        found += piece
        if found.startswith(_TLS_ALERT):
            break
        if len(found) >= 4:
            wanted = 4 + min(int.from_bytes(found[:4], "big"), 10)  # the beginning is enough
    return found


def _refused(subject: Subject, what: str, protocol: str, problem: NotLetInError | AdminError) -> Finding:
    if isinstance(problem, NotLetInError):
        step = "SASL" if problem.key.startswith("sasl.") else "TLS"
        return of_message(Level.ERROR, subject.where(problem.key), f"{step}: {problem}", "", UNREACHABLE)
    if problem.code.endswith("AUTHORIZATION_FAILED"):
        advice = "Grant DESCRIBE on the cluster to the worker's user."
        return error(what, f"authorization: {problem.words} ({problem.code}).", advice, UNREACHABLE)
    if problem.code == NO_ANSWER and not protocol.startswith("SASL"):
        said = "SASL: the brokers end connections of clients that do not log in, or answer no more questions"
        advice = "If they want a login, set security.protocol=SASL_SSL, sasl.mechanism and sasl.jaas.config."
        return error(what, f"{said} ({problem.words}).", advice, UNREACHABLE)
    return error(what, f"{problem.words} ({problem.code}).", "Look into the brokers' logs.", UNREACHABLE)
