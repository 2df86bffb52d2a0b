"""The units for systemd: their commands are ones that `connect` takes, and they fit how a worker ends."""

import re
import shlex
from pathlib import Path

import pytest

from connect.cli._exit import FAILED, INVALID, OK, UNREACHABLE
from connect.cli._main import parser_for
from connect.settings.worker_keys import DISTRIBUTED
from rest.connections import MOST

UNITS = Path(__file__).parents[3] / "config" / "operations" / "systemd"
CONFIG = UNITS.parents[1]
#: What a worker takes besides `task.shutdown.graceful.timeout.ms`: requests under way, and good-byes to the group.
BESIDES_S = 10


class Unit:
    """A unit's assignments: a key may stand more than once."""

    def __init__(self, path: Path) -> None:
        self.pairs: list[tuple[str, str, str]] = []
        section = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if header := re.fullmatch(r"\[(\w+)\]", line):
                section = header[1]
            elif line and not line.startswith("#"):
                key, sign, value = line.partition("=")
                assert sign == "=", f"{path.name}: {line}"
                self.pairs.append((section, key, value))

    def all(self, key: str) -> list[str]:
        return [value for _, has, value in self.pairs if has == key]

    def one(self, key: str) -> str:
        (value,) = self.all(key)
        return value


@pytest.fixture(params=["distributed", "standalone"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def unit(mode: str) -> Unit:
    return Unit(UNITS / f"connect-{mode}.service")


def test_a_unit_is_one_for_systemd(unit: Unit) -> None:
    assert {section for section, _, _ in unit.pairs} == {"Unit", "Service", "Install"}
    assert unit.one("WantedBy") == "multi-user.target"
    once = [(section, key) for section, key, _ in unit.pairs if key != "Environment"]
    assert len(once) == len(set(once))


def test_its_command_is_one_that_connect_takes(unit: Unit, mode: str) -> None:
    program, *arguments = shlex.split(unit.one("ExecStart"))
    assert Path(program).name == "connect"
    variables = dict(value.partition("=")[::2] for value in unit.all("Environment"))
    given = [variables[word[1:]] if word.startswith("$") else word for word in arguments]
    args = parser_for(given).parse_args(given)
    assert args.run.__module__ == f"connect.cli.{mode}"
    # It starts from the example of the same name.
    assert (CONFIG / Path(args.worker).name).is_file()
    assert Path(args.worker).parent == Path("/etc") / unit.one("ConfigurationDirectory")


def test_it_is_started_again_unless_that_would_not_help(unit: Unit, mode: str) -> None:
    assert unit.one("Restart") == "on-failure"
    never = {int(code) for code in unit.one("RestartPreventExitStatus").split()}
    assert never == ({INVALID, UNREACHABLE} if mode == "distributed" else {INVALID})
    assert not never & {OK, FAILED}
    # Where brokers are away a worker waits, and does not end with 3.
    assert "--no-wait" not in unit.one("ExecStart")
    pauses = int(unit.one("RestartSec")) * int(unit.one("StartLimitBurst"))
    assert pauses < int(unit.one("StartLimitIntervalSec")), "the limit is never reached"


def test_a_stop_leaves_the_worker_the_time_that_it_takes(unit: Unit) -> None:
    graceful = DISTRIBUTED.parse(
        {
            "bootstrap.servers": "a:9092",
            "group.id": "a",
            "key.converter": "a",
            "value.converter": "a",
            "config.storage.topic": "a",
            "offset.storage.topic": "b",
            "status.storage.topic": "c",
        }
    )["task.shutdown.graceful.timeout.ms"]
    assert int(unit.one("TimeoutStopSec")) >= graceful / 1000 + BESIDES_S
    assert unit.one("KillMode") == "mixed"
    assert unit.one("OOMPolicy") == "continue"


def test_it_may_do_what_a_worker_has_to_and_no_more(unit: Unit) -> None:
    for key in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictSUIDSGID"):
        assert unit.one(key) == "yes"
    assert unit.one("ProtectSystem") == "strict"
    assert unit.one("CapabilityBoundingSet") == ""
    assert unit.one("User") not in ("", "root")
    # Half of the descriptors are for the REST API, up to its limit.
    assert int(unit.one("LimitNOFILE")) >= 4 * MOST
    written = {f"/var/lib/{unit.one('StateDirectory')}", f"/var/log/{unit.one('LogsDirectory')}"}
    assert unit.one("WorkingDirectory") in written
    assert f"HOME={unit.one('WorkingDirectory')}" in unit.all("Environment")


def test_the_units_differ_in_nothing_else() -> None:
    def hardening(mode: str) -> list[tuple[str, str, str]]:
        pairs = Unit(UNITS / f"connect-{mode}.service").pairs
        own = {"Description", "ExecStart", "Environment", "RestartPreventExitStatus"}
        return [pair for pair in pairs if pair[1] not in own]

    assert hardening("distributed") == hardening("standalone")
