"""The outcome of tests in the XML that CI systems read, as JUnit wrote it first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from connect.errors import ConfigError

#: What XML cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: str, results: Sequence[tuple[str, str, int, float, Sequence[str]]]) -> None:
    """Write a file.

    Args:
        path: of the file; its folder is made.
        results: for each case its file, name, line, seconds, and what was wrong.

    Raises:
        ConfigError: it cannot be written.
    """
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
