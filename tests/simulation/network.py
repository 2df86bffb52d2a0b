"""The network between hosts and brokers: requests that take a while, get lost, or wait until a partition is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.simulation.scheduler import Machine, Scheduler

#: The brokers, as one place of the network.
BROKERS: Final = "brokers"

Reply = Callable[[Any], None]


class Call:
    """A request on its way. Its answer, or its failure, comes once at most."""

    __slots__ = ("answered", "failed", "host", "limit", "over")

    def __init__(self, host: str, answered: Reply, failed: Callable[[str], None]) -> None:
        self.host = host
        self.answered = answered
        self.failed = failed
        self.over = False
        self.limit: list[Any] | None = None


class Network:
    """Carries requests.

    Args:
        scheduler: see there.
        loss: how often the connection breaks while a request or its answer is under way.

    Attributes:
        cut: pairs of places between which nothing gets through; what is sent waits, as TCP would have it.
        refused: those of them where connections break at once.
    """

    def __init__(self, scheduler: Scheduler, loss: float) -> None:
        self._scheduler = scheduler
        self._chance = scheduler.chance
        self.loss = loss
        self.slow = 0.02
        self.cut: dict[tuple[str, str], list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {}
        self.refused: set[tuple[str, str]] = set()

    def latency(self) -> float:
        """How long one way takes."""
        usual = 0.001 + 0.01 * self._chance()
        return usual * 40 if self._chance() < self.slow else usual

    def is_cut(self, one: str, other: str) -> bool:
        """Whether nothing gets through between two places."""
        return bool(self.cut) and ((one, other) in self.cut or (other, one) in self.cut)

    def refuses(self, one: str, other: str) -> bool:
        """Whether a connection between them breaks at once."""
        return bool(self.refused) and ((one, other) in self.refused or (other, one) in self.refused)

    def separate(self, one: str, other: str, *, refused: bool) -> None:
        """Let nothing through between two places."""
        self.cut.setdefault((one, other), [])
        if refused:
            self.refused.add((one, other))

    def heal(self, one: str, other: str) -> None:
        """Let everything through again, and what waited."""
        self.refused.discard((one, other))
        for call, args in self.cut.pop((one, other), []):
            self._scheduler.after(self.latency(), call, *args)

    def one_way(self, source: str, target: str, deliver: Callable[..., Any], *args: Any) -> None:
        """Deliver something, after a while; once a partition is over, if there is one by then."""
        self._scheduler.after(self.latency(), self._arrives, source, target, deliver, args)

    def _arrives(self, source: str, target: str, deliver: Callable[..., Any], args: tuple[Any, ...]) -> None:
        if self.is_cut(source, target):
            waiting = self.cut[(source, target) if (source, target) in self.cut else (target, source)]
            waiting.append((deliver, args))
        else:
            deliver(*args)

    def request(
        self,
        machine: Machine,
        target: str,
        handle: Callable[[Reply], None],
        answered: Reply,
        failed: Callable[[str], None],
        timeout: float,
    ) -> Call:
        """Send a request. `handle` runs where it arrives, and replies then or later; one of the others is called here.

        `failed` gets "lost" when the connection breaks, and "late" when there is no answer in time. Then the request
        may have been handled, or not.
        """
        host = machine.host.name
        call = Call(host, answered, failed)
        if self.refuses(host, target):
            self._scheduler.after(0.02, self._fails, call, "lost")
            return call
        call.limit = self._scheduler.after(timeout, self._fails, call, "late")
        if self.loss and self._chance() < self.loss:
            self._scheduler.after(self.latency(), self._fails, call, "lost")
            if self._chance() < 0.5:
                return call  # it never arrives

        def reply(value: Any) -> None:
            self.one_way(target, host, self._answers, call, value)

        def arrives() -> None:
            # What was given up while it waited in a buffer of this host is never sent.
            if not call.over or self._chance() < 0.5:
                handle(reply)

        self.one_way(host, target, arrives)
        return call

    def _answers(self, call: Call, value: Any) -> None:
        if not call.over:
            call.over = True
            if call.limit is not None:
                self._scheduler.cancel(call.limit)
            call.answered(value)

    def _fails(self, call: Call, how: str) -> None:
        if not call.over:
            call.over = True
            if call.limit is not None:
                self._scheduler.cancel(call.limit)
            call.failed(how)
