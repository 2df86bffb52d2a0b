"""JdbcSinkConnector: topics into the tables of a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from connect import ConfigError, SinkConnector, TopicPartition, __version__
from connect.data.evolution_policy import ADD
from connect.settings import ConfigValue
from connect.settings.raw import comma_separated
from connectors.jdbc.sink.keys import JdbcSinkOptions, problems
from connectors.jdbc.sink.task import JdbcSinkTask


class JdbcSinkConnector(SinkConnector):
    """Passes its configuration to the tasks. Connects only to alter offsets that are stored in the database."""

    settings = JdbcSinkOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"sqlalchemy": "connect-runtime[jdbc]", "pyarrow": "connect-runtime[jdbc]"}
    version = __version__
    task = JdbcSinkTask

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        named = self.settings.named(config)
        values = super().validate(config)
        found = {value.name: value for value in values}
        parsed = {}
        for setting in self.settings:
            if not found[setting.name].errors:
                parsed[setting.name] = setting.value(named)
        for key, why in problems(parsed):
            found[key].errors.append(why)
        self._check_url(named, found)
        self._say_what_cannot_be_changed(config, found)
        return values

    @classmethod
    def datasets(cls, config: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        from connectors.jdbc.database.lineage import datasets

        options = JdbcSinkOptions.parse(config)
        tables = [options.table.replace("${topic}", topic) for topic in comma_separated(config.get("topics"))]
        return datasets(config["connection.url"], tables)

    def choices(self, key: str, config: Mapping[str, str]) -> list[str]:
        from connectors.jdbc.source.listing import tables_to_write

        return tables_to_write(self.settings, config)

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        options = JdbcSinkOptions.parse(config)
        if not options.exactly_once:
            return True  # the group's offsets are all there is
        from connectors.jdbc.database import Database
        from connectors.jdbc.sink.ledger import Ledger

        database = Database(options, config)
        try:
            Ledger(database, options.offsets_table, config["name"]).alter(offsets)
        finally:
            database.close()
        return True

    def _check_url(self, config: Mapping[str, str], found: Mapping[str, ConfigValue]) -> None:
        entry = found["connection.url"]
        if entry.errors:
            return
        written = config.get("connection.url") or ""
        if not written:
            entry.errors.append("is required: jdbc:postgresql://host:5432/database, for example.")
            return
        try:
            from connectors.jdbc.database.url import translate

            translate(written)
        except ConfigError as error:
            entry.errors.append(error.message)
        except ImportError as error:
            entry.errors.append(f"a package is missing: {error}. Install connect-runtime[jdbc].")
        try:
            if not any(value.errors for value in found.values()):
                from connectors.jdbc.sink.routing import Routing

                Routing(JdbcSinkOptions.parse(config))
        except ConfigError as error:
            if error.key in found:
                found[error.key].errors.append(error.message)

    def _say_what_cannot_be_changed(self, config: Mapping[str, str], found: Mapping[str, ConfigValue]) -> None:
        """Warn of schema changes that are allowed but impossible for this database's columns."""
        if any(value.errors for value in found.values()) or not self.settings.named(config).get("schema.evolution"):
            return
        from connectors.jdbc.database import Database
        from connectors.jdbc.sink.target import CHANGEABLE

        options = JdbcSinkOptions.parse(config)
        kind = Database(options, config).kind
        if kind not in CHANGEABLE and (cannot := options.policy.allowed - {ADD}):
            found["schema.evolution"].warnings.append(
                f"{' and '.join(sorted(cannot))} cannot be carried out in {kind}: such a record does not fit."
            )
