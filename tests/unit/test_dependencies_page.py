"""The page of dependencies names all that pyproject.toml asks for, and the jars that are fetched at run time."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_dependency_is_on_the_page_under_its_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {"Always": project["dependencies"]} | {
        f"Extra `{extra}`": lines
        for extra, lines in project["optional-dependencies"].items()
        if extra not in {"all", "dev", "docs"}
    }
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## (.+)\n(?s:(.*?))(?=^## |\Z)", page, re.MULTILINE))
    assert parts.keys() == asked.keys(), "run .ci/sbom.py --page"
    for part, lines in asked.items():
        names = {re.match(r"[\w.-]+", line)[0].lower() for line in lines}  # type: ignore[index]
        for name in names - {"connect-runtime"}:
            assert f"| {name} | " in parts[part], f"{name} in {part}: run .ci/sbom.py --page"
        for set_ in re.findall(r"sums/([\w-]+)\.txt", parts[part]):
            assert (ROOT / "connect" / "jvm" / "sums" / f"{set_}.txt").exists()
