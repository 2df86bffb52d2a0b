"""tweepy is imported when a task starts, and its absence is said in a line."""

import subprocess
import sys
from pathlib import Path

import pytest

from connect import ConnectError
from connect.testing import SourceRun
from connectors.twitter import TwitterSourceConnector

CONFIG = {"topic": "posts", "twitter.rules": "a", "twitter.bearer.token": "t"}


def test_naming_the_connector_imports_nothing_heavy() -> None:
    code = (
        "import sys; from connectors.twitter import TwitterSourceConnector as C; C().validate({});"
        "print(sorted({'tweepy', 'requests', 'urllib3'} & set(sys.modules)))"
    )
    root = str(Path(__file__).parents[4])
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tweepy", None)
    monkeypatch.delitem(sys.modules, "connectors.twitter.api", raising=False)
    with pytest.raises(ConnectError, match=r"needs the package tweepy: pip install connect-runtime\[twitter\]"):
        SourceRun(TwitterSourceConnector, CONFIG).start()
