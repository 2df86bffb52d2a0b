"""What may go wrong with a schema registry."""

from __future__ import annotations

from connect.errors import DataError, RetriableError


class RegistryUnavailable(RetriableError):
    """No address of the registry answers, or it says that it cannot now. `errors.retry.*` applies."""


class RegistryRefused(DataError):
    """The registry answered and said no: the schema is not valid, or not compatible with those before it.

    Attributes:
        status: of HTTP.
        code: Confluent's error code, such as 40403; 0 where the answer has none.
    """

    def __init__(self, message: str, status: int, code: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RegistryNotFound(RegistryRefused):
    """The registry has no such subject, version or schema."""
