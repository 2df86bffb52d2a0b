"""docs/connectors/twitter.md says what the code does, and its examples are taken."""

import re
from pathlib import Path

from connect.plugins.builtin import BUILT_IN
from connectors.twitter.keys import OAUTH, TwitterOptions

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "twitter.md").read_text(encoding="utf-8")
SETTINGS = TwitterOptions.definition()


def test_the_page_names_the_connector_as_it_is_found() -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(":TwitterSourceConnector")]
    assert ref.task == "com.github.jcustenborder.kafka.connect.twitter.TwitterSourceTask"
    assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))


def test_the_page_tells_what_becomes_of_the_java_connectors_keys() -> None:
    told = PAGE.partition("## The Java connector's keys")[2].partition("## Every key")[0]
    others = {"filter.keywords", "filter.userIds", "queue.empty.ms", "queue.batch.size"}
    for key in (*SETTINGS.others.aliases, *OAUTH, *SETTINGS.others.without_effect, *others):
        assert f"`{key}`" in told, key


def test_the_page_tells_every_metric() -> None:
    named = set(re.findall(r"`(twitter_\w+)`", PAGE))
    code = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "connectors" / "twitter").glob("*.py"))
    assert named == set(re.findall(r'"(twitter_\w+)"', code))
