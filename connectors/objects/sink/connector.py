"""ObjectSinkConnector: what the sinks of all stores have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from connect import ConfigError, SinkConnector, __version__
from connect.data.evolution_policy import EvolutionOptions
from connect.settings import ConfigValue
from connectors.objects.sink.task import ObjectSinkTask

if TYPE_CHECKING:
    from connectors.objects.sink.plan import SinkPlan


class ObjectSinkConnector(SinkConnector):
    """Passes its configuration to the tasks. Connects to nothing. A subclass names its settings and its task."""

    version = __version__
    task: ClassVar[type[ObjectSinkTask]]

    @classmethod
    def namespace(cls, options: SinkPlan) -> str:
        """What the bucket is called in lineage, such as ``s3://company-lake``."""
        raise NotImplementedError

    @classmethod
    def datasets(cls, config: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        options = cls.task.plan(config)
        return [(cls.namespace(options), options.topics_dir or options.file_name_prefix or "/")]

    def problems(self, parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Keys of the store that contradict each other: the key at fault, and why.

        Args:
            parsed: the values of those settings that are right by themselves.
        """
        return []

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        named = self.settings.named(config)
        values = super().validate(config)
        found = {value.name: value for value in values}
        parsed = {setting.name: setting.value(named) for setting in self.settings if not found[setting.name].errors}
        for key, why in self.problems(parsed):
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
