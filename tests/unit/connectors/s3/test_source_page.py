"""docs/connectors/s3-source.md says what the code does, and its examples are taken."""

from pathlib import Path

from connect.plugins.builtin import BUILT_IN
from connectors.s3.source.keys import S3SourceOptions

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "s3-source.md").read_text(encoding="utf-8")


def test_the_page_names_the_connector_as_it_is_found_and_what_has_no_effect() -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(":S3SourceConnector")]
    assert ref.task == "io.confluent.connect.s3.source.S3SourceTask"
    assert all(
        f"`{name}`" in PAGE for name in (ref.name, *ref.aliases, *S3SourceOptions.definition().others.without_effect)
    )
