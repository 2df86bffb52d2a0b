"""`connect test`: unit tests for a connector's converters and transformations, beside its configuration."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from connect.cli._connectors import print_json
from connect.cli._exit import FAILED, INVALID, OK
from connect.cli._table import coloured, plain
from connect.errors import ConfigError, ConnectError

if TYPE_CHECKING:
    from connect.cli._case_files import Case, CaseFile, Wrong

_CASES = ("*.test.yaml", "*.test.yml")

HELP = """\
Run the cases of YAML files: records through a connector's converters and transformations, in this process, and what
is expected of them. Exit code 1 when a case fails, 2 when a file is wrong. Needs pip install 'connect-runtime[test]'.

examples:
  connect test orders.test.yaml
  connect test pipelines/                       # all *.test.yaml of a folder
  connect test tests/*.yaml -k cast --junit report.xml
  connect test orders.test.yaml --worker-config worker.properties --json

orders.test.yaml:
  config: orders.json                  # a file beside this one, or the keys themselves
  cases:
    - name: the id becomes a number
      records: {key: k1, value: {id: "5"}}
      expected: {key: k1, value: {id: 5}}
    - name: what is not JSON is refused
      records: {value: "{"}
      error: {stage: VALUE_CONVERTER}"""


@dataclass(frozen=True, slots=True)
class _Result:
    case: Case
    wrong: list[Wrong]
    seconds: float


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="a file of cases, or a folder with *.test.yaml")
    parser.add_argument("-k", dest="filter", metavar="TEXT", help="only cases whose name has this in it")
    parser.add_argument("--worker-config", metavar="FILE", help="the worker's properties, for files that name none")
    parser.add_argument("--junit", metavar="FILE", help="write the outcome as XML, for CI")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace) -> int:
    """Read all files, then run their cases."""
    from connect.cli._case_files import CaseFile

    files: list[CaseFile] = []
    errors: list[tuple[str, str]] = []  # a file, and what is wrong with it
    for path in _files(args.files):
        try:
            files.append(CaseFile(path, args.worker_config))
        except (ConnectError, ValueError) as error:  # all that is wrong with all files is said at once
            errors.append((path, str(error)))
    began = time.monotonic()
    results: list[_Result] = []
    if not errors:
        for file in files:
            try:
                results += _run(file, args)
            except ConnectError as error:
                errors.append((file.path, str(error)))
    if args.junit:
        report = [
            (one.case.file, one.case.name, one.case.line, one.seconds, [wrong.message for wrong in one.wrong])
            for one in results
        ]
        # A file that could not be used is a case that failed: CI shows nothing else.
        _write_junit(args.junit, report + [(path, "the file can be used", 1, 0.0, [said]) for path, said in errors])
    failed = sum(bool(result.wrong) for result in results)
    told = [said for _, said in errors]
    if args.json:
        print_json(
            {"passed": len(results) - failed, "failed": failed, "errors": told, "cases": list(map(_plain, results))}
        )
    else:
        for said in told:
            print(f"connect: {said}", file=sys.stderr)
        if results:
            _summary(len(results), failed, time.monotonic() - began)
        else:
            print(f"no case was run{'' if errors else _why_none(args, files)}")
    if errors:
        return INVALID
    return FAILED if failed or not results else OK


def _files(paths: Sequence[str]) -> Iterator[str]:
    """Files as they are, and of folders all files of cases in them."""
    for path in paths:
        if Path(path).is_dir():
            yield from sorted(str(each) for pattern in _CASES for each in Path(path).rglob(pattern))
        else:
            yield path


def _run(file: CaseFile, args: argparse.Namespace) -> list[_Result]:
    results = []
    wanted = [case for case in file.cases if not args.filter or args.filter.lower() in case.name.lower()]
    if wanted and not args.json:
        print(plain(file.path))
    for case in wanted:
        began = time.monotonic()
        result = _Result(case, file.run(case), time.monotonic() - began)
        results.append(result)
        if not args.json:
            _tell(result)
    return results


def _tell(result: _Result) -> None:
    case = result.case
    if not result.wrong:
        print(f"  {coloured('+', 'ok    ')}  {plain(case.name)}")
        return
    print(f"  {coloured('FAILED')}  {plain(case.name)}  ({plain(case.place)})")
    for wrong in result.wrong:
        print(f"          {plain(case.file)}:{wrong.line}: {plain(wrong.message)}")


def _why_none(args: argparse.Namespace, files: Sequence[CaseFile]) -> str:
    if not files:
        return f": no {_CASES[0]} in {plain(', '.join(args.files))}"
    return f": none has {plain(args.filter)!r} in its name" if args.filter else ""


def _summary(run_: int, failed: int, seconds: float) -> None:
    parts = [coloured("FAILED", f"{failed} failed")] if failed else []
    parts.append(f"{run_ - failed} passed")
    print(f"{', '.join(parts)} in {seconds:.2f} s")


def _plain(result: _Result) -> dict[str, object]:
    case = result.case
    return {
        "file": case.file,
        "line": case.line,
        "name": case.name,
        "outcome": "failed" if result.wrong else "passed",
        "seconds": round(result.seconds, 4),
        "problems": [{"line": wrong.line, "message": wrong.message} for wrong in result.wrong],
    }


#: What XML cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _write_junit(path: str, results: Sequence[tuple[str, str, int, float, Sequence[str]]]) -> None:
    """Write the XML that CI systems read, in JUnit's format.

    Args:
        path: of the file; its folder is created.
        results: for each case its file, name, line, seconds, and errors.

    Raises:
        ConfigError: it cannot be written.
    """
    from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

    top = Element("testsuites")
    for file in dict.fromkeys(file for file, *_ in results):
        own = [result for result in results if result[0] == file]
        seconds = sum(result[3] for result in own)
        failed = sum(bool(result[4]) for result in own)
        suite = SubElement(
            top, "testsuite", name=file, tests=str(len(own)), failures=str(failed), errors="0", time=f"{seconds:.3f}"
        )
        for _, name, line, took, wrong in own:
            case = SubElement(
                suite,
                "testcase",
                classname=_clean(file),
                name=_clean(name),
                file=_clean(file),
                line=str(line),
                time=f"{took:.3f}",
            )
            if wrong:
                failure = SubElement(case, "failure", message=_clean(wrong[0]))
                failure.text = _clean("\n".join(wrong))
    indent(top)
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        ElementTree(top).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise ConfigError("--junit", f"{path}: {(error.strerror or 'cannot be written').lower()}.") from error


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("�", text)
