"""The results of `connect.kafka.admin.client.Admin`, and its error. Quick to import, unlike the client."""

from __future__ import annotations

from typing import Final, NamedTuple

from connect.errors import ConnectError

TIMEOUT_S: Final = 10.0
#: Which offset: the first of a partition, or the one after its last. Else a moment, in milliseconds since the epoch.
EARLIEST: Final = -2
LATEST: Final = -1
#: The code of an `AdminError` where nobody answered.
NO_ANSWER: Final = "NO_ANSWER"


class AdminError(ConnectError):
    """The brokers refuse a request, or none answered in time.

    Attributes:
        code: Kafka's name of the error, such as TOPIC_AUTHORIZATION_FAILED, or `NO_ANSWER`.
        words: what is wrong, a sentence without its full stop.
        passes: the same request may succeed later.
        exit_code: of a command that ends with it, or with an error that it has caused.
    """

    def __init__(self, code: str, words: str, *, passes: bool) -> None:
        super().__init__(f"{words} ({code})")
        self.code = code
        self.words = words
        self.passes = passes
        self.exit_code = 3 if code == NO_ANSWER else 1


class TopicSetting(NamedTuple):
    """One setting of a topic.

    Attributes:
        value: None for a hidden one.
        is_default: it is set neither for the topic nor for brokers.
        is_own: it was set for this topic.
        is_of_file: it stands in the properties of brokers, and is not set for the topic.
        is_fixed: it cannot be changed, or is a secret.
    """

    value: str | None
    is_default: bool
    is_own: bool
    is_of_file: bool
    is_fixed: bool


class Committed(NamedTuple):
    """What a group has committed in a partition: an offset and its metadata."""

    offset: int
    metadata: str = ""


class Acl(NamedTuple):
    """An ACL of a topic.

    Attributes:
        topic, principal, host: as Kafka names them.
        operation, permission: such as READ and ALLOW.
    """

    topic: str
    principal: str
    host: str
    operation: str
    permission: str
