"""RegistryClient: the operations of a schema registry that converters need, by Confluent's REST interface, cached.

https://docs.confluent.io/platform/current/schema-registry/develop/api.html. Apicurio (`/apis/ccompat/v7`),
Karapace and Redpanda have it too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from connect.converters.lru_cache import LruCache
from connect.converters.registry.http import RegistryHttp, RegistryNotFound, RegistryRefused, RegistryUnavailable
from connect.errors import ConfigError, DataError

__all__ = [
    "AVRO",
    "JSON",
    "PROTOBUF",
    "Reference",
    "RegistryClient",
    "RegistryNotFound",
    "RegistryRefused",
    "RegistrySchema",
    "RegistryUnavailable",
    "SchemaId",
    "Version",
]

AVRO: Final = "AVRO"
JSON: Final = "JSON"
PROTOBUF: Final = "PROTOBUF"


class Reference(NamedTuple):
    """A schema's reference to another one.

    Attributes:
        name: of the reference: a full name in Avro, a file in Protobuf, a URL in JSON Schema.
        subject, version: where it is registered.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class RegistrySchema:
    """A schema as the registry stores it.

    Attributes:
        type: AVRO, PROTOBUF or JSON.
        text: the schema itself.
        references: to others, only its direct ones.
    """

    type: str
    text: str
    references: tuple[Reference, ...] = ()


class SchemaId(NamedTuple):
    """How records name a schema: by a number of one registry, or by a global identifier (None where it has none)."""

    number: int
    guid: str | None = None


class Version(NamedTuple):
    """A schema under a subject."""

    id: SchemaId
    version: int
    schema: RegistrySchema


class RegistryClient:
    """Asks the registry, once for each schema. For one thread.

    Every method raises `RegistryUnavailable` while the registry does not answer, `RegistryNotFound` for what it does
    not have, `RegistryRefused` for what it refuses, and `ConfigError` where login, TLS or address are wrong.

    Args:
        http: sends the requests.
        size: how many schemas are cached.
        latest_for: seconds after which the latest version of a subject is read again; below 0 never.
        schema_format: of schemas that are read (`resolved`, `serialized`), where the registry supports it.
    """

    def __init__(
        self, http: RegistryHttp, *, size: int = 1000, latest_for: float = -1, schema_format: str | None = None
    ) -> None:
        self._http = http
        self._format = schema_format
        self._latest_for = latest_for
        self._by_id: LruCache[int | str, RegistrySchema] = LruCache(size)
        self._registered: LruCache[tuple[str, RegistrySchema, bool], SchemaId] = LruCache(size)
        self._found: LruCache[tuple[str, RegistrySchema, bool, bool], Version] = LruCache(size)
        self._versions: LruCache[tuple[str, int], Version] = LruCache(size)
        self._latest: LruCache[str, tuple[float, Version]] = LruCache(size)

    def schema_by_id(self, number: int, subject: str | None = None) -> RegistrySchema:
        """The schema of this number; `subject` is a hint for registries with several contexts."""
        found = self._by_id.get(number)
        if found is None:
            answer = self._http.get(f"/schemas/ids/{number}{self._query(subject=subject, format=self._format)}")
            found = self._by_id[number] = _schema(answer)
        return found

    def schema_by_guid(self, guid: str) -> RegistrySchema:
        """The schema of this identifier, such as 89791762-2336-41b9-8a7b-8a2a5c4f7a4f."""
        found = self._by_id.get(guid)
        if found is None:
            answer = self._http.get(f"/schemas/guids/{guid}{self._query(format=self._format)}")
            found = self._by_id[guid] = _schema(answer)
        return found

    def schema(self, id: int | str, subject: str | None = None) -> RegistrySchema:  # noqa: A002 - as records name it
        """The schema that a record names, by a number or by an identifier."""
        return self.schema_by_id(id, subject) if isinstance(id, int) else self.schema_by_guid(id)

    def register(self, subject: str, schema: RegistrySchema, *, normalize: bool = False) -> SchemaId:
        """The id of this schema under the subject, where it is registered if it was not."""
        key = (subject, schema, normalize)
        found = self._registered.get(key)
        if found is None:
            path = f"/subjects/{_quoted(subject)}/versions{self._query(normalize=normalize or None)}"
            answer = self._http.post(path, _body(schema))
            _refuse_rules(answer.get("ruleSet") or {})  # a version takes over the rules of the one before it
            found = self._registered[key] = _id(answer)
        return found

    def lookup(
        self, subject: str, schema: RegistrySchema, *, normalize: bool = False, deleted: bool = False
    ) -> Version:
        """The registration of this schema under the subject. `deleted` finds it there also after a soft deletion."""
        key = (subject, schema, normalize, deleted)
        found = self._found.get(key)
        if found is None:
            query = self._query(normalize=normalize or None, deleted=deleted or None)
            found = self._found[key] = _version(self._http.post(f"/subjects/{_quoted(subject)}{query}", _body(schema)))
        return found

    def latest(self, subject: str) -> Version:
        """The latest version of a subject."""
        until, found = self._latest.get(subject, (0.0, None))
        if found is None or time.monotonic() >= until:
            found = _version(self._http.get(f"/subjects/{_quoted(subject)}/versions/latest"))
            until = float("inf") if self._latest_for < 0 else time.monotonic() + self._latest_for
            self._latest[subject] = (until, found)
        return found

    def version(self, subject: str, version: int) -> Version:
        """This version of a subject; a reference may name a softly deleted one."""
        found = self._versions.get((subject, version))
        if found is None:
            answer = self._http.get(f"/subjects/{_quoted(subject)}/versions/{version}?deleted=true")
            found = self._versions[subject, version] = _version(answer)
        return found

    def referenced(self, schema: RegistrySchema) -> dict[str, RegistrySchema]:
        """All direct and indirect references of a schema, by name. A referenced schema precedes those that use it."""
        found: dict[str, RegistrySchema] = {}
        self._collect(schema.references, found, ())
        return found

    def _collect(
        self, references: Sequence[Reference], found: dict[str, RegistrySchema], within: tuple[Reference, ...]
    ) -> None:
        for reference in references:
            if reference in within:
                names = " -> ".join(each.name for each in (*within, reference))
                raise DataError(f"the references of a schema lead in a circle: {names}.")
            if reference.name not in found:
                used = self.version(reference.subject, reference.version).schema
                self._collect(used.references, found, (*within, reference))
                found[reference.name] = used

    @staticmethod
    def _query(**parameters: Any) -> str:
        given = [f"{name}={quote(_word(value), safe='')}" for name, value in parameters.items() if value is not None]
        return f"?{'&'.join(given)}" if given else ""


def _word(value: Any) -> str:
    return "true" if value is True else str(value)


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _body(schema: RegistrySchema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.type != AVRO:
        body["schemaType"] = schema.type
    if schema.references:
        body["references"] = [each._asdict() for each in schema.references]
    return body


def _schema(answer: Any) -> RegistrySchema:
    _refuse_rules(answer.get("ruleSet") or {})
    references = tuple(Reference(r["name"], r["subject"], int(r["version"])) for r in answer.get("references") or ())
    return RegistrySchema(answer.get("schemaType") or AVRO, answer["schema"], references)


def _refuse_rules(rules: Mapping[str, Any]) -> None:
    """Refuse rules such as encryption: ignoring them would write values in clear text, or read encrypted ones."""
    for kind in ("domainRules", "encodingRules"):
        for rule in rules.get(kind) or ():
            if not rule.get("disabled"):
                raise ConfigError(
                    "rule.executors",
                    f'a schema in the registry has the rule "{rule.get("name")}" of type {rule.get("type")}, which '
                    "cannot be executed here. Use a schema without rules, or disable the rule.",
                )


def _id(answer: Any) -> SchemaId:
    return SchemaId(int(answer["id"]), answer.get("guid"))


def _version(answer: Any) -> Version:
    return Version(_id(answer), int(answer["version"]), _schema(answer))
