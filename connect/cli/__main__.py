"""`python -m connect.cli` is the command `connect`."""

import sys

from connect.cli import main

if __name__ == "__main__":
    sys.exit(main())
