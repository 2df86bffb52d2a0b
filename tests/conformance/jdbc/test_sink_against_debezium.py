"""The same records into the same kinds of databases, by Debezium's sink in a worker of Java and by ours.

Both have one configuration, with Debezium's keys and its class's name. Compared are the columns of tables that both
create, and every value as its text.
"""

import uuid
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple, NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, resolve
from connect.jvm.java import JavaNotFound, find_java
from connect.kafka.broker.embedded import Broker
from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresServer

from .debezium_sinks import Database, Sink, by_debezium, by_us, columns, rows
from .sink_cases import ALONE, WAYS, Way

#: Where we differ on purpose: database, way, what of it; and why.
DELIBERATE = {
    # What Debezium's sink fails with, or what needs an extension there that is not installed.
    "* plain_key *": "Debezium fails with keys that are not structs.",
    "* t_struct *": "Debezium fails with structs; here they are JSON.",
    "* t_map_text *": "Debezium needs hstore, and fails in MariaDB; here they are JSON.",
    "* t_array_date *": "Debezium takes days for texts, and fails; here they are an array of dates.",
    "* t_dbz_floatvector *": "Debezium needs pgvector or MySQL 9; here they are arrays.",
    "* t_dbz_doublevector *": "The same.",
    "* t_dbz_bits_high *": "Debezium fails with bytes from 0x80 on.",
    "postgresql t_dbz_ltree *": "Debezium needs the extension ltree; here it is text, which such a column takes.",
    "postgresql t_dbz_point *": "Debezium needs PostGIS to write what it makes; here it is JSON.",
    "postgresql t_dbz_geometry *": "The same.",
    "mariadb t_array_*": "Debezium fails; here they are JSON.",
    "mariadb t_decimal_0 *": "Debezium asks for a negative scale, which MariaDB does not have.",
    "mariadb t_decimal_minus *": "The same.",
    "mariadb t_dbz_zonedtime *": "Debezium asks for a type that MariaDB does not have.",
    # Values.
    "postgresql t_decimal_0 *": "Debezium makes the scale -1, and 7 becomes 10.",
    "postgresql t_decimal_minus *": "The same.",
    "postgresql t_dbz_nano*time* rows": "PostgreSQL rounds what it is given; ours are cut, everywhere alike.",
    "postgresql ?_dbz_microduration rows": "Debezium drops fractions of a second.",
    "* t_dbz_variable *": "Debezium makes doubles of them, here they are exact.",
    "* t_dbz_bits rows": "Debezium takes the lowest byte for the highest.",
    "mariadb upsert_wide_keys rows": "Debezium's text keys are compared without case and accents: rows are lost.",
    # Types.
    "postgresql t_decimal_2 column *": "NUMERIC without limits has place for all digits.",
    "postgresql t_decimal_10 column *": "The same.",
    "mariadb t_decimal_2 column *": "DECIMAL(65) has place for more digits.",
    "mariadb t_decimal_10 column *": "The same.",
    "postgresql t_dbz_json column *": "JSONB can be compared, indexed and grouped by.",
    "mariadb t_dbz_zonedtimestamp* *": "TIMESTAMP ends in 2038 and begins in 1970.",
    "mariadb zone column dbz_zonedtimestamp": "The same.",
    "mariadb t_dbz_year column *": "YEAR has 1901 to 2155 only.",
    "mariadb t_dbz_uuid column *": "VARCHAR(36) can be part of a key.",
    "mariadb t_dbz_enum* column *": "Text takes labels that an enum is given later.",
    "mariadb t_dbz_point *": "JSON here; MariaDB's own type there.",
    "mariadb t_dbz_geometry *": "The same.",
    "* t_from_*": "column.propagate.source.type is not looked at: columns take more than the source's did.",
    "* defaults column a_required": "A column with a default may be null, as with Confluent's sink.",
}


class Difference(NamedTuple):
    """Something that is not the same.

    Attributes:
        place: database, way and what of it: `columns NAME`, `rows`, or `refusal`.
    """

    place: str
    theirs: object
    ours: object

    def __str__(self) -> str:
        return f"{self.place}: {self.theirs} there, {self.ours} here"


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def differences(
    request: pytest.FixtureRequest,
    broker: Broker,
    tmp_path_factory: pytest.TempPathFactory,
    cannot_have: Callable[[str, object], NoReturn],
) -> list[Difference]:
    """All that differs in a database."""
    try:
        find_java(17)
        resolve("kafka-connect")
        resolve("debezium-jdbc")
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Debezium's JDBC sink", error)
    kind = request.param
    server: PostgresServer | MariaServer = request.getfixturevalue("postgres" if kind == "postgresql" else "mariadb")
    run = uuid.uuid4().hex[:8]
    theirs, ours = server.database(f"theirs_{run}"), server.database(f"ours_{run}")
    try:
        for way in WAYS.values():
            for database in (theirs, ours):
                _prepare(database, way, kind == "mariadb")
        folder = tmp_path_factory.mktemp(f"debezium-{kind}")
        sinks = {f"{kind}-{name}": sink for name, sink in _sinks(kind).items()}
        failed = {}
        # Debezium keeps what it knows of types and zones for all sinks of a worker: one changes those of another.
        for part in (False, True):
            chosen = {name: (sink, theirs) for name, sink in sinks.items() if ("zone" in name) == part}
            failed |= by_debezium(broker.bootstrap_servers, folder / f"zone-{part}", chosen)
        found = []
        for name, sink in sinks.items():
            found += _refusals(name.replace("-", " "), failed.get(name), by_us(name, sink, ours))
        for name, way in WAYS.items():
            found += _compared(f"{kind} {name}", way, theirs, ours)
        return found
    finally:
        theirs.drop()
        ours.drop()


def _prepare(database: Database, way: Way, maria: bool) -> None:
    if way.prepared is not None:
        (table,) = way.tables
        database.execute(f"CREATE TABLE {table} ({way.prepared[maria]})")
        if way.before:
            database.execute(f"INSERT INTO {table} VALUES {way.before}")


def _sinks(kind: str) -> dict[str, Sink]:
    """A sink for all ways that are told the same; one of its own for each that one side refuses."""
    found: dict[str, Sink] = {}
    shared: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, way in WAYS.items():
        if name in ALONE[kind]:
            found[name] = Sink(way.config, way.messages)
        else:
            shared.setdefault(tuple(sorted(way.config.items())), []).append(name)
    for names in shared.values():
        messages = [message for name in names for message in WAYS[name].messages]
        found[names[0]] = Sink(WAYS[names[0]].config, messages)
    return found


def _refusals(place: str, theirs: str | None, ours: str | None) -> list[Difference]:
    return [] if theirs is None and ours is None else [Difference(f"{place} refusal", theirs, ours)]


def _compared(place: str, way: Way, theirs: Database, ours: Database) -> list[Difference]:
    found = []
    for table in way.tables:
        there, here = columns(theirs, table), columns(ours, table)
        found += [
            Difference(f"{place} column {name}", there.get(name), here.get(name))
            for name in sorted({*there, *here})
            if there.get(name) != here.get(name)
        ]
        if there and here and set(there) == set(here):
            left, right = rows(theirs, table), rows(ours, table)
            if left != right:
                found.append(Difference(f"{place} rows", *_unlike(left, right)))
    return found


def _unlike(left: list[dict[str, object]], right: list[dict[str, object]]) -> tuple[object, object]:
    return [row for row in left if row not in right], [row for row in right if row not in left]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_row_and_column_is_as_debezium_has_it(differences: list[Difference]) -> None:
    unexpected = [each for each in differences if not any(fnmatchcase(each.place, known) for known in DELIBERATE)]
    assert not unexpected, "\n".join(map(str, unexpected))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_differs_on_purpose_differs_indeed(differences: list[Difference], request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.params["differences"]
    for known in DELIBERATE:
        if known.startswith((kind, "*")):
            assert any(fnmatchcase(each.place, known) for each in differences), f"{known} does not differ any more"
