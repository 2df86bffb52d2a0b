"""What the connectors of change capture have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Final

from connect import ConfigError, ConnectError, ExactlyOnceSupport, SourceConnector, __version__
from connect.settings import ConfigValue

#: Seconds that a validation, and a list of choices, waits for the database.
PATIENCE: Final = 5

_HOST: Final = "database.hostname"


class CaptureConnector(SourceConnector):
    """A connector of one task, which asks the database when its configuration is validated."""

    version = __version__

    @abstractmethod
    def ask(self, config: Mapping[str, str]) -> None:
        """Ask the database whether it can be captured so.

        Raises:
            ConfigError: a key says what cannot be.
            ConnectError: it cannot be reached, or captured.
        """

    def place(self, config: Mapping[str, str]) -> str:
        """The key that says where the database is."""
        return _HOST

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        found = super().validate(config)
        by_name = {each.name: each for each in found}
        if any(each.errors for each in found):
            return found
        try:
            self.ask(config)
        except ConfigError as error:
            by_name[error.key if error.key in by_name else _HOST].errors.append(error.message)
        except ConnectError as error:
            by_name[self.place(config)].errors.append(str(error))
        return found

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED
