"""`python -m bench`: measures part after part, keeps what was measured, and says which bar is missed.

The exit code is 0 when all bars are held, 1 when one is missed and 2 when a part could not be measured.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

from bench import document, page
from bench.machine import ROOT
from bench.part import PARTS, named
from bench.run import FAILED, Order, run


def main() -> int:
    """Measure, write bench/results, and bring docs/performance.md up to date. See the top of the module."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ", ".join(part.name for part in PARTS)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which (default: all): {names}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: to see that every part works, not to cite")
    parser.add_argument("--rounds", type=int, help="how often each side does each work (default: what the part thinks)")
    parser.add_argument("--results", type=Path, help="the folder of the documents (default: bench/results)")
    args = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # starts are measured as users have them
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        parts = [named(name) for name in args.parts] or list(PARTS)
    except KeyError as error:
        parser.error(error.args[0])
    default = ROOT / "build" / "bench" if args.quick else document.RESULTS
    code = run(Order(parts, args.results or default, args.quick, args.rounds))
    if not args.quick and args.results is None and page.bring_up_to_date(page.PAGE, document.RESULTS, check=False):
        return FAILED
    return code


if __name__ == "__main__":
    sys.exit(main())
