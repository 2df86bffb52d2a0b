"""The exit codes of every command."""

OK = 0
FAILED = 1
INVALID = 2  # the command line or a configuration; argparse's own
UNREACHABLE = 3  # a server that is needed does not answer, or does not let us in
