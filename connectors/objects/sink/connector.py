"""ObjectSinkConnector: what the sinks of all stores have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from connect import ConfigError, SinkConnector, __version__
from connect.data.evolution_policy import EvolutionOptions
from connect.settings import ConfigValue
from connectors.objects.sink.keys import ObjectOptions
from connectors.objects.sink.task import ObjectSinkTask


class ObjectSinkConnector(SinkConnector):
    """Passes its configuration to the tasks. Connects to nothing.

    A subclass names its options, its settings (theirs) and its task.
    """

    version = __version__
    options: ClassVar[type[ObjectOptions]]
    task: ClassVar[type[ObjectSinkTask]]

    @classmethod
    def datasets(cls, config: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        options = cls.task.plan(config)
        return [(options.namespace, options.topics_dir or options.file_name_prefix or "/")]

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        named = self.settings.named(config)
        values = super().validate(config)
        found = {value.name: value for value in values}
        parsed = {setting.name: setting.value(named) for setting in self.settings if not found[setting.name].errors}
        for key, why in self.options.problems(parsed):
            found[key].errors.append(why)
        if not any(value.errors for value in values):
            try:
                options = self.task.plan(config)
            except ConfigError as error:
                found[error.key].errors.append(error.message)
            else:
                if options.evolution is not None and not options.format.by_schema:
                    of_policy = ("schema.compatibility", *(setting.name for setting in EvolutionOptions.definition()))
                    for key in filter(named.get, of_policy):
                        found[key].warnings.append("has no effect: files of this format have no schema.")
        return values
