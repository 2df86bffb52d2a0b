"""The file connectors pass the suite that every plug-in should pass."""

from typing import ClassVar, Literal

import pytest

from connect.testing.conformance import SinkConformance, SourceConformance
from connectors.file import FileStreamSinkConnector, FileStreamSourceConnector

pytestmark = pytest.mark.quick  # no server, some seconds


class TestFileSource(SourceConformance):
    connector = FileStreamSourceConnector

    def config(self) -> dict[str, str]:
        return {"file": str(self.tmp_path / "in.txt"), "topic": "lines"}

    def value(self, number: int) -> str:
        return f"line {number:06} {'=' * 100}"

    def produce(self, first: int, count: int) -> None:
        with (self.tmp_path / "in.txt").open("a") as file:
            file.writelines(f"{self.value(number)}\n" for number in range(first, first + count))


class TestFileSourceOfSeveralFiles(TestFileSource):
    def config(self) -> dict[str, str]:
        return {"file": str(self.tmp_path / "*.txt"), "topic": "lines", "tasks.max": "2"}

    def produce(self, first: int, count: int) -> None:
        for name in ("a.txt", "b.txt"):
            (self.tmp_path / name).touch()
        for number in range(first, first + count):
            with (self.tmp_path / ("a.txt" if number % 3 else "b.txt")).open("a") as file:
                file.write(f"{self.value(number)}\n")


class TestFileSource16(TestFileSource):
    """Another encoding, and polls that are bounded by lines."""

    plenty = 2000
    most_rows = 50

    def config(self) -> dict[str, str]:
        return {**super().config(), "encoding": "UTF-16LE", "batch.size": "50"}

    def produce(self, first: int, count: int) -> None:
        with (self.tmp_path / "in.txt").open("a", encoding="utf-16-le") as file:
            file.writelines(f"{self.value(number)}\n" for number in range(first, first + count))


class TestFileSink(SinkConformance):
    connector = FileStreamSinkConnector
    repeats: ClassVar[Literal["harmless", "duplicates"]] = "duplicates"

    def config(self) -> dict[str, str]:
        return {"file": str(self.tmp_path / "out.txt")}

    def value(self, number: int) -> str:
        return f"line {number}"

    def written(self) -> list[str]:
        return (self.tmp_path / "out.txt").read_text().splitlines()


class TestExactlyOnceFileSink(TestFileSink):
    repeats = "harmless"

    def config(self) -> dict[str, str]:
        return {**super().config(), "exactly.once": "true"}
