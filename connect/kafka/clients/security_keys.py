"""Security settings of Java's clients, and what they become here: TLS from PEM files, PKCS#12 and JKS stores, SASL.

https://kafka.apache.org/documentation/#security. What librdkafka cannot read itself is passed to it as PEM, in memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from connect.kafka.clients.java_rules import (
    ClientSettingError,
    Computed,
    Mapped,
    NoEffect,
    Refused,
    Rule,
    listed,
)
from connect.kafka.clients.stores import is_pem, is_pkcs12, read_store

# A login module, its control flag, and options: `org....PlainLoginModule required username="u" password="p";`
_JAAS = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*);\s*",
    re.DOTALL | re.IGNORECASE,
)
_JAAS_OPTION = re.compile(r"""\s*([\w.$-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""", re.DOTALL)
# For each login module: its options and the settings of librdkafka that they become.
_MODULES: dict[str, dict[str, str]] = {
    "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.credentials.client.id",
        "clientSecret": "sasl.oauthbearer.client.credentials.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
    "Krb5LoginModule": {
        "keyTab": "sasl.kerberos.keytab",
        "principal": "sasl.kerberos.principal",
        "serviceName": "sasl.kerberos.service.name",
    },
}
# How Java keeps and renews tickets, which librdkafka does in its own way.
_KERBEROS_OF_JAVA = {"useKeyTab", "storeKey", "useTicketCache", "doNotPrompt", "renewTGT", "refreshKrb5Config", "debug"}


def _jaas(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    # Nothing of the value is ever shown: it holds a password.
    match = _JAAS.fullmatch(value)
    if not match:
        raise ClientSettingError(key, "it does not read: <login module> required <option>=<value> ... ; (mind the end)")
    module = match["module"].rpartition(".")[2]
    if module not in _MODULES:
        raise ClientSettingError(key, f"the login module {module} cannot run here; there are {', '.join(_MODULES)}")
    options = {}
    written, at = match["options"].rstrip(), 0
    while at < len(written):
        option = _JAAS_OPTION.match(written, at)
        if not option:
            raise ClientSettingError(key, 'its options do not read as name="value" name="value"')
        name, double, single, bare = option.groups()
        options[name] = bare or re.sub(r"\\(.)", r"\1", double or single or "", flags=re.DOTALL)
        at = option.end()
    if unknown := options.keys() - _MODULES[module].keys() - _KERBEROS_OF_JAVA:
        raise ClientSettingError(key, f"{module} has no option {', '.join(sorted(unknown))} here; remove it")
    return {setting: options[name] for name, setting in _MODULES[module].items() if name in options}


def _token_url(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    if not value.strip().lower().startswith(("https://", "http://")):  # and no file, or what else curl knows
        raise ClientSettingError(key, "write a URL that begins with https://")
    return {key: value, "sasl.oauthbearer.method": "oidc"}


def _truststore(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    if is_pem(java, "truststore"):
        return {"ssl.ca.location": value}
    return {"ssl.ca.pem": read_store(java, "truststore").trusted}


def _keystore(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    if is_pem(java, "keystore"):
        return {"ssl.key.location": value, "ssl.certificate.location": value}
    if is_pkcs12(java, "keystore"):
        return {"ssl.keystore.location": value}
    store = read_store(java, "keystore")
    return {"ssl.key.pem": store.private, "ssl.certificate.pem": store.chain}


def _keystore_password(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    unread = is_pem(java, "keystore") or (java.get("ssl.keystore.location") and not is_pkcs12(java, "keystore"))
    return {} if unread else {key: value}


def _truststore_password(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    if is_pem(java, "truststore"):
        raise ClientSettingError(key, "a PEM file of certificates has no password; remove it")
    return {}  # it counts where the store is read


def _store_kind(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    if value.strip().upper() not in {"PEM", "PKCS12", "JKS"}:
        raise ClientSettingError(
            key, f'"{value}" is not a kind of store that can be read here; write PEM, PKCS12 or JKS'
        )
    return {}  # what it means is decided at the store's location


def _cipher_suites(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    suites = listed(value)
    if any(suite.startswith(("TLS_", "SSL_")) for suite in suites):
        raise ClientSettingError(key, "write OpenSSL's names, e.g. ECDHE-RSA-AES128-GCM-SHA256 (`openssl ciphers -v`)")
    return {key: ":".join(suites)} if suites else {}


_SAME_OAUTH = (
    "assertion.algorithm",
    "assertion.claim.aud",
    "assertion.claim.exp.seconds",
    "assertion.claim.iss",
    "assertion.claim.jti.include",
    "assertion.claim.nbf.seconds",
    "assertion.claim.sub",
    "assertion.file",
    "assertion.private.key.file",
    "assertion.private.key.passphrase",
    "client.credentials.client.id",
    "client.credentials.client.secret",
    "scope",
    "sub.claim.name",
)
_OF_BROKERS = NoEffect("it concerns brokers, which check tokens")
_OWN_LOGIN = Refused(
    "a Java class cannot log in here; use PLAIN, SCRAM, GSSAPI, or OAUTHBEARER with a token URL", ("",)
)
_LOGIN_TIMES = NoEffect("librdkafka renews the login by times of its own")
_OPENSSL = NoEffect("it concerns the JVM; here OpenSSL does it")

SECURITY: dict[str, Rule] = {
    "security.protocol": Mapped("security.protocol"),
    "security.providers": NoEffect("it names Java classes; here OpenSSL does it", ("",)),
    "sasl.mechanism": Mapped("sasl.mechanism"),
    "sasl.jaas.config": Computed(_jaas),
    "sasl.client.callback.handler.class": _OWN_LOGIN,
    "sasl.login.callback.handler.class": _OWN_LOGIN,
    "sasl.login.class": _OWN_LOGIN,
    "sasl.login.connect.timeout.ms": _LOGIN_TIMES,
    "sasl.login.read.timeout.ms": _LOGIN_TIMES,
    "sasl.login.refresh.buffer.seconds": _LOGIN_TIMES,
    "sasl.login.refresh.min.period.seconds": _LOGIN_TIMES,
    "sasl.login.refresh.window.factor": _LOGIN_TIMES,
    "sasl.login.refresh.window.jitter": _LOGIN_TIMES,
    "sasl.login.retry.backoff.max.ms": _LOGIN_TIMES,
    "sasl.login.retry.backoff.ms": _LOGIN_TIMES,
    "sasl.kerberos.service.name": Mapped("sasl.kerberos.service.name"),
    "sasl.kerberos.min.time.before.relogin": Mapped("sasl.kerberos.min.time.before.relogin"),
    "sasl.kerberos.kinit.cmd": NoEffect("librdkafka's setting of this name is a whole command; its default works"),
    "sasl.kerberos.ticket.renew.jitter": _LOGIN_TIMES,
    "sasl.kerberos.ticket.renew.window.factor": _LOGIN_TIMES,
    **{f"sasl.oauthbearer.{name}": Mapped(f"sasl.oauthbearer.{name}") for name in _SAME_OAUTH},
    "sasl.oauthbearer.assertion.template.file": Mapped("sasl.oauthbearer.assertion.jwt.template.file"),
    "sasl.oauthbearer.token.endpoint.url": Computed(_token_url),
    "sasl.oauthbearer.jwt.retriever.class": _OWN_LOGIN,
    "sasl.oauthbearer.jwt.validator.class": _OF_BROKERS,
    "sasl.oauthbearer.clock.skew.seconds": _OF_BROKERS,
    "sasl.oauthbearer.expected.audience": _OF_BROKERS,
    "sasl.oauthbearer.expected.issuer": _OF_BROKERS,
    "sasl.oauthbearer.header.urlencode": NoEffect("librdkafka sends client id and secret as they are", ("false",)),
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": _OF_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _OF_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _OF_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.url": _OF_BROKERS,
    "sasl.oauthbearer.scope.claim.name": _OF_BROKERS,
    "ssl.cipher.suites": Computed(_cipher_suites),
    "ssl.enabled.protocols": NoEffect("OpenSSL and the broker agree on TLS 1.2 or 1.3; limit it at the broker"),
    "ssl.endpoint.identification.algorithm": Mapped("ssl.endpoint.identification.algorithm", {"": "none"}),
    "ssl.engine.factory.class": Refused("a Java class cannot do TLS here; leave it out", ("",)),
    "ssl.key.password": Mapped("ssl.key.password"),
    "ssl.keymanager.algorithm": _OPENSSL,
    "ssl.keystore.certificate.chain": Mapped("ssl.certificate.pem"),
    "ssl.keystore.key": Mapped("ssl.key.pem"),
    "ssl.keystore.location": Computed(_keystore),
    "ssl.keystore.password": Computed(_keystore_password),
    "ssl.keystore.type": Computed(_store_kind),
    "ssl.protocol": NoEffect("OpenSSL and the broker agree on TLS 1.2 or 1.3; limit it at the broker"),
    "ssl.provider": _OPENSSL,
    "ssl.secure.random.implementation": _OPENSSL,
    "ssl.trustmanager.algorithm": _OPENSSL,
    "ssl.truststore.certificates": Mapped("ssl.ca.pem"),
    "ssl.truststore.location": Computed(_truststore),
    "ssl.truststore.password": Computed(_truststore_password),
    "ssl.truststore.type": Computed(_store_kind),
}
