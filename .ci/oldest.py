"""Finds uses of what Python's library got only in a later patch release of 3.11: on 3.11.0 they fail when reached.

mypy holds the packages to Python 3.11, but it knows no patch releases. Where the code asks first whether something is
there, the line says so with a comment: `# since 3.11.4`.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator

from repository import files

# Found by comparing the libraries of 3.11.2 and 3.11.7, and in what their documentation says was added after 3.11.0.
KEYWORDS = {
    ("extractall", "filter"): "3.11.4",
    ("extract", "filter"): "3.11.4",
    ("unpack_archive", "filter"): "3.11.4",
    ("getaddresses", "strict"): "3.11.10",
    ("parseaddr", "strict"): "3.11.10",
}
NAMES = {
    "data_filter": "3.11.4",
    "tar_filter": "3.11.4",
    "fully_trusted_filter": "3.11.4",
    "FilterError": "3.11.4",
    "AbsolutePathError": "3.11.4",
    "AbsoluteLinkError": "3.11.4",
    "OutsideDestinationError": "3.11.4",
    "LinkOutsideDestinationError": "3.11.4",
    "SpecialFileError": "3.11.4",
    "GetReparseDeferralEnabled": "3.11.9",
    "SetReparseDeferralEnabled": "3.11.9",
    "verify_generated_headers": "3.11.10",
    "HeaderWriteError": "3.11.10",
    "ALLOW_MISSING": "3.11.13",
    "LinkFallbackError": "3.11.13",
}


def newer(source: str) -> Iterator[tuple[int, str, str]]:
    """Each use: its line, what is used, the version that it is there since."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        found: list[tuple[str, str]] = []
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found = [
                (f"{called}({keyword.arg}=)", KEYWORDS[called, keyword.arg])
                for keyword in node.keywords
                if keyword.arg and (called, keyword.arg) in KEYWORDS
            ]
        elif isinstance(node, ast.Attribute | ast.alias):
            name = node.attr if isinstance(node, ast.Attribute) else node.name
            found = [(name, NAMES[name])] if name in NAMES else []
        for what, since in found:
            if not re.search(rf"# since {re.escape(since)}\b", "\n".join(lines[node.lineno - 1 : node.end_lineno])):
                yield node.lineno, what, since


def main() -> int:
    """Print each use as file:line and return 1 if there is one."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    sources = files("*.py")
    uses = 0
    for file in sources:
        for line, what, since in newer(file.read_text(encoding="utf-8")):
            uses += 1
            print(f"{file}:{line}: {what} is there since Python {since}, not in 3.11.0. Ask first whether it is.")
    print(f"{len(sources)} files, {uses} uses of what Python 3.11.0 has not")
    return 1 if uses else 0


if __name__ == "__main__":
    sys.exit(main())
