"""The operators and functions that an expression may call: `function` declares one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect import DataError
from transforms.expressions.kinds import Kind, Typed, common, kind_of

#: Of the kinds of the arguments makes the kind of the result; None when they do not go together.
Result = Callable[[Sequence[Typed]], Typed | None]

ANYTHING: Final = tuple(kind for kind in Kind if kind not in (Kind.INTERVAL, Kind.NULL, Kind.ANY))
TEXT, INTEGER, DOUBLE, BOOLEAN = (Kind.TEXT,), (Kind.INTEGER,), (Kind.DOUBLE,), (Kind.BOOLEAN,)


@dataclass(frozen=True, slots=True)
class Function:
    """One operator or function.

    Attributes:
        name: as it is written.
        run: on values.
        takes: the kinds that each argument may have; the last ones are for `most` arguments.
        gives: the type of the result.
        least, most: how many arguments; most None for any number.
        nulls: whether it wants to see nulls.
    """

    name: str
    run: Callable[..., Any]
    takes: tuple[tuple[Kind, ...], ...]
    gives: Result
    least: int
    most: int | None
    nulls: bool = False

    def of(self, at: int) -> tuple[Kind, ...]:
        """The kinds that the argument at this place may have."""
        return self.takes[min(at, len(self.takes) - 1)]

    def called(self) -> Callable[..., Any]:
        """The function with its rules about nulls and kinds around it."""
        run, takes, nulls = self.run, [frozenset(kinds) for kinds in self.takes], self.nulls
        last = len(takes) - 1

        def call(*values: Any) -> Any:
            for place, value in enumerate(values):
                if value is None:
                    if not nulls:
                        return None
                elif kind_of(value) not in takes[min(last, place)]:
                    raise self.refusal(place, value)
            return run(*values)

        return call

    def refusal(self, place: int, value: Any) -> DataError:
        """What to raise for an argument of another kind."""
        wanted = " or ".join(kind.value for kind in self.of(place)[:4])
        return DataError(f"{self.name} takes {wanted}, not {kind_of(value).value}.")


FUNCTIONS: Final[dict[str, Function]] = {}


def function(
    *names: str,
    takes: Sequence[Sequence[Kind]],
    gives: Kind | Result,
    least: int | None = None,
    many: bool = False,
    nulls: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function under its names. `least`: arguments after that many may be left out; `many`: any number."""
    result: Result = (lambda _: Typed(gives)) if isinstance(gives, Kind) else gives

    def declare(run: Callable[..., Any]) -> Callable[..., Any]:
        kinds = tuple(tuple(each) for each in takes)
        for name in names:
            fewest = len(kinds) if least is None else least
            FUNCTIONS[name] = Function(name, run, kinds, result, fewest, None if many else len(kinds), nulls)
        return run

    return declare


def alike(types: Sequence[Typed]) -> Typed | None:
    """The type that all arguments have in common."""
    return common(list(types))


def first(types: Sequence[Typed]) -> Typed | None:
    """The type of the first argument."""
    return types[0]._replace(schema=None)
