"""`python -m bench.page`: writes the tables of docs/performance.md from bench/results, and what `connect migrate` says.

What a part measured stands between `<!-- bench:PART -->` and `<!-- /bench:PART -->`; `bench:bars` holds how many bars
are reached, and those that are not. Everything else on the page is written by hand.
"""

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import beside_java, document
from bench.bars import BARS, judge
from bench.machine import ROOT
from bench.part import PARTS
from bench.tables import markdown

PAGE = ROOT / "docs" / "performance.md"
_BLOCK = re.compile(r"(<!-- bench:([\w-]+) -->\n)(.*?)(<!-- /bench:\2 -->)", re.DOTALL)
_MARK = re.compile(r"<!-- /?bench:[\w-]+ -->")


class PageBroken(Exception):
    """The marks of the page are not what they should be. The message says which."""


def written(text: str, folder: Path) -> str:
    """The page with what the documents of a folder say.

    Raises:
        PageBroken: a mark has no end, is there twice, or names no part; or a part has no mark.
    """
    names = [found[2] for found in _BLOCK.finditer(text)]
    if 2 * len(names) != len(_MARK.findall(text)):
        raise PageBroken("a mark <!-- bench:PART --> stands without its end, or within another's")
    known = ["bars", *(part.name for part in PARTS)]
    for name in {*names, *known}:
        if names.count(name) != 1 or name not in known:
            raise PageBroken(f"<!-- bench:{name} --> is there {names.count(name)} times; parts are {', '.join(known)}")
    documents = {part.name: document.read(part.name, folder) for part in PARTS}
    blocks = {part.name: _block(part.name, documents[part.name]) for part in PARTS} | {"bars": _bars(documents)}
    return _BLOCK.sub(lambda found: f"{found[1]}{blocks[found[2]]}\n{found[4]}", text)


def _block(name: str, found: dict[str, Any] | None) -> str:
    if found is None:
        return f"Not measured yet: `make bench PARTS={name}`."
    module = next(part for part in PARTS if part.name == name).load()
    return f"{origin(found)}\n\n{module.table(found)}"


def origin(found: Mapping[str, Any]) -> str:
    """Where and when the figures of a document were taken, in a line."""
    if "transcribed" in found:
        return f"*{found['transcribed']}*"
    machine = found["machine"]
    rounds, changed = found["settings"]["rounds"], found.get("changed", False)
    parts = [
        f"{rounds} round{'s' * (rounds != 1)} at {found['commit']}{' with changes' * changed}",
        f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']} GiB, {machine['kernel']}",
        f"{machine['python']}, {machine['java']}",
        ", ".join(f"{name} {version}" for name, version in found["versions"].items()),
        f"load before {found['load_before']:g}",
    ]
    return f"*{'; '.join(filter(None, parts))}.*"


def _bars(documents: Mapping[str, dict[str, Any] | None]) -> str:
    """How many bars are reached, and those that are not."""
    judged = [
        each
        for part in dict.fromkeys(bar.part for bar in BARS)
        for each in judge(documents[part] or {"part": part, "rows": {}})
    ]
    missed = [each for each in judged if not each.held]
    said = f"{len(judged) - len(missed)} of {len(judged)} bars are reached."
    if not missed:
        return said
    rows = [["part", "figure", "why", "measured", "bar"]]
    for each in missed:
        measured = "not yet" if each.measured is None else f"{each.measured:.3g}"
        rows.append([each.bar.part, each.figure, each.bar.why, measured, str(each.bar)])
    return f"{said} Those that are not:\n\n{markdown(rows, left=3)}"


def main() -> int:
    """Returns 0 when the page says what the results say, or was made to; 1 with `--check` when it does not."""
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; say whether page and results agree")
    return bring_up_to_date(PAGE, document.RESULTS, beside_java.FILE, check=parser.parse_args().check)


def bring_up_to_date(page: Path, results: Path, beside: Path | None = None, *, check: bool) -> int:
    """See `main`. Pictures stand where the page's folder has them; `beside` is for `beside_java`, None: nothing."""
    text = page.read_text(encoding="utf-8")
    try:
        fresh = {page: written(text, results)}
    except PageBroken as error:
        print(f"{page.name}: {error}")
        return 1
    fresh |= {page.parent / name: content for name, content in _pictures(results).items()}
    if beside is not None:
        fresh[beside] = beside_java.text(results)
    stale = [path for path, content in fresh.items() if not _holds(path, content)]
    if not check:
        for path in stale:
            path.write_text(fresh[path], encoding="utf-8")
        return 0
    old = {found[2]: found[3] for found in _BLOCK.finditer(text)}
    blocks = [found[2] for found in _BLOCK.finditer(fresh[page]) if old[found[2]] != found[3]]
    for what in [*(f"the block {name}" for name in blocks), *(path.name for path in stale if path != page)]:
        print(f"{page.name}: {what} is not what bench/results say: run python -m bench.page")
    return 1 if stale else 0


def _holds(path: Path, content: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == content


def _pictures(results: Path) -> dict[str, str]:
    """The pictures that parts draw of what they measured, by their path beside the page."""
    found: dict[str, str] = {}
    for part in PARTS:
        measured = document.read(part.name, results)
        draw = getattr(part.load(), "pictures", None)
        if draw and measured:
            found |= draw(measured)
    return found


if __name__ == "__main__":
    sys.exit(main())
