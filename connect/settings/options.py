"""Settings as the attributes of a class, typed.

    class LineOptions(settings.Options, aliases={"destination": "topic"}):
        topic = settings.String("topic", doc="Where lines go.", validator=settings.non_empty)
        pause = settings.Long("pause.ms", default=1000, convert=settings.seconds, doc="Between two polls.")

    options = LineOptions.parse({"destination": "lines"})
    options.topic  # "lines", a str for mypy
    options.pause  # 1.0
    LineOptions.definition()["pause.ms"].default  # 1000

Classes compose by inheritance. A class shows its bases' settings before its own; one that it redeclares under the same
attribute keeps its position: `pause = LineOptions.pause.replaced(default=500)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from connect.settings.definition import Config, Definition
from connect.settings.other_keys import Alias, WithoutEffect
from connect.settings.setting import Setting


class Options:
    """Base of classes whose attributes are settings; an instance holds a configuration's values.

    Arguments of the class are names of other projects, `aliases` and `without_effect` (see `settings.define`), and
    `more`: settings without an attribute, such as those that are passed on by their prefix.

    Attributes:
        config: the configuration, by key and as written.
    """

    _declared: ClassVar[Mapping[str, Setting[Any]]] = {}
    _definition: ClassVar[Definition] = Definition()

    def __init_subclass__(
        cls,
        *,
        aliases: Mapping[str, str | Alias] | None = None,
        without_effect: Mapping[str, str | WithoutEffect] | None = None,
        more: Iterable[Setting[Any]] = (),
    ) -> None:
        declared: dict[str, Setting[Any]] = {}
        inherited = Definition()
        for base in cls.__bases__:
            if issubclass(base, Options):
                declared |= base._declared
                inherited |= base._definition
        declared |= {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}
        declared |= {setting.name: setting for setting in more}
        cls._declared = declared
        cls._definition = (inherited | Definition(declared.values())).with_others(aliases, without_effect)

    def __init__(self, config: Config) -> None:
        self.config = config
        for name, setting in self._declared.items():
            self.__dict__[name] = setting.converted(config[setting.name])

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """The values of a configuration, as a user writes it or as a `Definition` with all of these settings parsed it.

        Raises:
            ConfigError: for the first key that is missing or wrong.
        """
        return cls(raw if isinstance(raw, Config) else cls._definition.parse(raw))

    @classmethod
    def definition(cls) -> Definition:
        """The same settings for forms, the REST API and validation: what a plug-in declares as its `settings`."""
        return cls._definition
