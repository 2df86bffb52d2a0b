"""Where clients see a difference, on purpose. Whatever is not in this list is a failure.

What validation says and which plug-ins there are is compared word for word in tests/conformance/rest: here it only has
to be of the form that a client expects.
"""

from connect import __version__
from tests.conformance.rest.deliberate import Difference
from tests.conformance.rest.talk import MISSING

DELIBERATE = [
    Difference("It is another program", "version", r"\.returned\.commit"),
    Difference(
        "Plug-ins that come with the runtime have its version",
        ".*",
        ".*",
        lambda ours, theirs: (ours, theirs) == (__version__, "4.3.1"),
    ),
    Difference(
        "We bring more connectors, and what belongs to them",
        "(all )?plugins",
        r"\.returned\..+",
        lambda ours, theirs: theirs is MISSING,
    ),
    Difference(
        "Our file connectors have more settings, in groups, and what is wrong is said in our words",
        "validate.*",
        r"\.returned\.(groups\[\d+\]|error_count|errorCount|configs\..*"
        r"(documentation|group|order_in_group|width|display_name|value|errors\[\d\]))",
    ),
    Difference("Our file connectors have more settings", "validate.*", ".*", lambda ours, theirs: theirs is MISSING),
    Difference(
        "Our file source finds a file again that was renamed",
        "offsets.*",
        r".*\.offset\.(inode|head)",
        lambda ours, theirs: theirs is MISSING,
    ),
    Difference("What is wrong is said in our words", "(create|put) .*", r"\.message(\.message)?"),
]
