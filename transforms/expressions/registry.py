"""The operators and functions that an expression may call: `function` declares one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect import DataError
from transforms.expressions.kinds import Kind, Typed, common, kind_of

#: Derives the type of the result from those of the arguments; None when the function does not accept them together.
Result = Callable[[Sequence[Typed]], Typed | None]

ANYTHING: Final = tuple(kind for kind in Kind if kind not in (Kind.INTERVAL, Kind.NULL, Kind.ANY))
TEXT, INTEGER, DOUBLE, BOOLEAN = (Kind.TEXT,), (Kind.INTEGER,), (Kind.DOUBLE,), (Kind.BOOLEAN,)


@dataclass(frozen=True, slots=True)
class Function:
    """One operator or function.

    Attributes:
        name: as it is written.
        run: computes the result from values.
        takes: the kinds that each argument may have; the last entry is for all arguments after it.
        gives: the type of the result.
        least, most: the number of arguments; `most` is None for any number.
        nulls: whether it is called with nulls. Otherwise a null argument makes the result null.
        example: arguments that are good; a call that has constants in place of some of them, and fails, fails for
            every record. None where another argument's constant depends on this one. Empty: nothing is tried.
    """

    name: str
    run: Callable[..., Any]
    takes: tuple[tuple[Kind, ...], ...]
    gives: Result
    least: int
    most: int | None
    nulls: bool = False
    example: tuple[Any, ...] = ()

    def of(self, at: int) -> tuple[Kind, ...]:
        """The kinds that the argument at this place may have."""
        return self.takes[min(at, len(self.takes) - 1)]

    def called(self) -> Callable[..., Any]:
        """The function with the checks of nulls and kinds around it."""
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
        """The error for an argument of another kind."""
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
    example: tuple[Any, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function. Arguments after the first `least` may be left out; with `many` there may be any number.

    The others: see `Function`.
    """
    result: Result = (lambda _: Typed(gives)) if isinstance(gives, Kind) else gives

    def declare(run: Callable[..., Any]) -> Callable[..., Any]:
        kinds = tuple(tuple(each) for each in takes)
        for name in names:
            fewest = len(kinds) if least is None else least
            most = None if many else len(kinds)
            FUNCTIONS[name] = Function(name, run, kinds, result, fewest, most, nulls, example)
        return run

    return declare


def alike(types: Sequence[Typed]) -> Typed | None:
    """The type that all arguments have in common."""
    return common(list(types))


def first(types: Sequence[Typed]) -> Typed | None:
    """The type of the first argument."""
    return types[0]._replace(schema=None)
