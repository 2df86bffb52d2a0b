"""`python -m bench.one MODULE`: one part in a process of its own; `python -m bench.jdbc` and its like lead here."""

import argparse
import importlib
import json
import signal
import sys
import tempfile
from pathlib import Path

from bench import bars, machine
from bench.machine import say
from bench.part import Settings


def main(module: str | None = None, part: str | None = None) -> int:
    """Measure, show the table, and say which bars are missed. Returns 0 when none is, 1 when one is.

    Args:
        module: the part's; the first word of the command line without one.
        part: its name, by which it has bars.
    """
    args = _parse(module)
    module = module or args.module
    # Whoever ends us ends what we started: servers, workers and the broker are stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    loaded = importlib.import_module(module)
    if args.folder is None:  # by hand; `python -m bench` has said it already
        say(", ".join(str(value) for value in machine.describe().values()) + f"; load {machine.load()}")
    with tempfile.TemporaryDirectory(prefix="connect-bench-", dir=args.folder) as name:
        settings = Settings(Path(name), args.quick, args.rounds, args.size, tuple(args.only))
        measured = {**({"quick": True} if args.quick else {}), **loaded.measure(settings)}
    if args.json:
        args.json.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    if args.folder is not None:
        return 0
    found = {"part": part or module, **measured}
    print(loaded.table(found))
    missed = [each for each in bars.judge(found) if each.measured is not None and not each.held]
    for each in missed:
        print(f"MISSED  {each}")
    return 1 if missed else 0


def _parse(module: str | None) -> argparse.Namespace:
    about = importlib.import_module(module).__doc__ if module else __doc__
    parser = argparse.ArgumentParser(
        prog=f"python -m {module or 'bench.one'}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if module is None:
        parser.add_argument("module", help="of the part, such as bench.jdbc")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: to see that it works, not to cite")
    parser.add_argument("--rounds", type=int, help="how often each side does each work")
    parser.add_argument("--size", type=int, help="how many records, or connectors")
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="rows whose name has one of these in it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured there")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
