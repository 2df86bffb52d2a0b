r"""Checks that every plug-in should pass. Inherit, say what is particular to yours, and run pytest:

    class TestFileSource(SourceConformance):
        connector = FileStreamSourceConnector

        def config(self):
            return {"file": str(self.tmp_path / "in.txt"), "topic": "lines"}

        def value(self, number):
            return f"line {number}"

        def produce(self, first, count):
            with (self.tmp_path / "in.txt").open("a") as file:
                file.writelines(f"{self.value(n)}\n" for n in range(first, first + count))

It needs pytest, and hypothesis for transformations and converters: `pip install 'connect-runtime[testing]'`.
"""

import pytest

# Asserts in here are to say as much as those in a test's own file.
pytest.register_assert_rewrite(
    *(f"{__name__}.{name}" for name in ("_plugin", "_connector", "_source", "_sink", "_transformation", "_converter"))
)

from connect.testing.conformance._converter import ConverterConformance  # noqa: E402 - after the registration above
from connect.testing.conformance._sink import SinkConformance  # noqa: E402
from connect.testing.conformance._source import SourceConformance  # noqa: E402
from connect.testing.conformance._transformation import TransformationConformance  # noqa: E402
from connect.testing.conformance._values import any_values, schemaless_values, values_with_schemas  # noqa: E402

__all__ = [
    "ConverterConformance",
    "SinkConformance",
    "SourceConformance",
    "TransformationConformance",
    "any_values",
    "schemaless_values",
    "values_with_schemas",
]
