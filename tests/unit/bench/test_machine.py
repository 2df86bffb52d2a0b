import re
import socket
from pathlib import Path

import pytest

from bench import document, machine


def test_the_machine_is_told_by_what_matters_and_not_by_its_name() -> None:
    about = machine.describe()
    assert about.keys() == {"processor", "cores", "memory_gib", "kernel", "python", "java"}
    assert re.fullmatch(r"Linux \d+(\.\d+)*", about["kernel"])
    assert re.match(r"CPython 3\.\d+\.\d+$", about["python"])
    assert about["cores"] >= 1
    assert socket.gethostname() not in str(about)


@pytest.mark.parametrize(
    ("release", "said"),
    [("6.18.44", "6.18.44"), ("5.10.0-28-cloud-amd64", "5.10.0"), ("6.1.0+acme-host7", "6.1.0")],
)
def test_what_stands_behind_a_kernel_s_version_is_left_out(
    release: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.platform, "release", lambda: release)
    assert machine.describe()["kernel"] == f"Linux {said}"


def test_the_commit_is_named() -> None:
    commit, changed = machine.commit()
    assert re.fullmatch(r"[0-9a-f]{7,}|unknown", commit)
    assert isinstance(changed, bool)


@pytest.mark.parametrize("path", sorted(document.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_a_committed_document_names_no_host_and_no_path(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|usr|var|opt)\b", text)
    assert not re.search(r"\d+\.\d+\.\d+\.\d+|localhost|https?://", text)
