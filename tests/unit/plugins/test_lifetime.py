"""A plug-in's life: `stop` follows a `start` that returned, and what is on the exit stack is closed at the end."""

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from connect.api.connector import SourceConnector
from connect.errors import ConnectError
from connect.plugins.lifetime import Lifetime


class Plugin(SourceConnector):
    """Opens a file and a connection, notes its calls, and fails where the test says."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.errors: dict[str, BaseException] = {}
        self.seen: list[BaseException | None] = []  # the errors that were known when the file was closed
        self.context: Any = SimpleNamespace(exit_stack=ExitStack())

    def start(self, config: Any) -> None:
        self.calls.append("start")
        self.context.exit_stack.push(lambda kind, error, trace: self.seen.append(error))
        self.context.exit_stack.callback(self.does, "file closed")
        self.context.exit_stack.callback(self.does, "connection closed")
        self.fail("start")

    def stop(self) -> None:
        self.does("stop")

    def does(self, what: str) -> None:
        self.calls.append(what)
        self.fail(what)

    def fail(self, where: str) -> None:
        if where in self.errors:
            raise self.errors[where]


def test_what_was_opened_is_closed_after_stop_the_last_first() -> None:
    plugin = Plugin()
    life = Lifetime(plugin)
    life.start({})
    assert plugin.calls == ["start"]
    life.end()
    assert plugin.calls == ["start", "stop", "connection closed", "file closed"]
    assert plugin.seen == [None]


def test_a_plugin_that_cannot_start_is_not_stopped_and_what_it_opened_is_closed_at_once() -> None:
    plugin = Plugin()
    plugin.errors["start"] = error = ConnectError("no such table")
    life = Lifetime(plugin)
    with pytest.raises(ConnectError, match="no such table"):
        life.start({})
    assert plugin.calls == ["start", "connection closed", "file closed"]
    assert plugin.seen == [error]
    life.end()
    assert plugin.calls == ["start", "connection closed", "file closed"]


@pytest.mark.parametrize("closing", [OSError("broken pipe"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["start", "stop"])
def test_an_error_of_closing_hides_none_before_it_and_is_logged(
    where: str, closing: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = Plugin()
    plugin.errors[where] = ConnectError("no such table")
    plugin.errors["connection closed"] = closing
    life = Lifetime(plugin)
    with pytest.raises(ConnectError, match="no such table"):
        live(life)
    assert plugin.calls[-2:] == ["connection closed", "file closed"]
    assert f"While stopping: {type(closing).__name__}: {closing}" in caplog.text


def test_an_error_of_closing_alone_is_raised_when_all_is_closed() -> None:
    plugin = Plugin()
    plugin.errors["connection closed"] = OSError("broken pipe")
    with pytest.raises(OSError, match="broken pipe"):
        live(Lifetime(plugin))
    assert plugin.calls == ["start", "stop", "connection closed", "file closed"]


def test_what_is_closed_learns_of_the_error_that_ends_the_plugin() -> None:
    plugin, error = Plugin(), ConnectError("the table is gone")
    life = Lifetime(plugin)
    life.start({})
    try:
        raise error
    except ConnectError:
        life.end()
    assert plugin.seen == [error]


def test_a_life_ends_once_and_one_that_never_began_ends_quietly() -> None:
    plugin = Plugin()
    Lifetime(plugin).end()
    assert plugin.calls == []
    life = Lifetime(plugin)
    live(life)
    life.end()
    assert plugin.calls == ["start", "stop", "connection closed", "file closed"]


def live(life: Lifetime[Plugin]) -> None:
    life.start({})
    life.end()
