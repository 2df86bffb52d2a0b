"""Why a herder does not carry out a request. The class of an error decides REST's status code."""

from __future__ import annotations

from connect.errors import ConnectError


class HerderError(ConnectError):
    """A request that a herder does not carry out. `status` is its HTTP status code."""

    status = 500


class NotFoundError(HerderError):
    """There is no such connector, task, plug-in or logger."""

    status = 404


class AlreadyExistsError(HerderError):
    """A connector of this name exists."""

    status = 409


class BadRequestError(HerderError):
    """The request cannot be carried out as it is: a configuration with errors, a connector that is not stopped."""

    status = 400


class ForbiddenError(HerderError):
    """The worker's configuration forbids it."""

    status = 403


class RebalanceError(HerderError):
    """The group is rebalancing; the same request may succeed in a moment."""

    status = 409


class BusyError(HerderError):
    """The worker is doing as many of these as it may at one time; the same request may succeed in a moment."""

    status = 503


class NobodyKnownError(RebalanceError):
    """Another worker of the group has to do this, and it is not known at the moment which."""

    def __init__(self) -> None:
        super().__init__(
            "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
        )


class ElsewhereError(RebalanceError):
    """Another worker of the group has to do this: the group has changed since the request was routed."""

    def __init__(self) -> None:
        super().__init__("Cannot complete request because of a conflicting operation (e.g. worker rebalance)")
