"""This machine's clock, compared with those of the HTTP servers in the files. Brokers do not tell their time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Final

from connect.cli._doctor.finding import Finding, note, ok, warning
from connect.cli._doctor.subject import Subject
from connect.cli._doctor.targets import targets
from connect.http import NoAnswerError, exchange

#: More than this is worth a warning: tokens and signed requests have their times. A header's time is in whole seconds.
MOST_S: Final = 30.0


def check(subject: Subject) -> Iterator[Finding]:
    """The Date header of one response of each HTTP server."""
    urls = {target.url: target for target in targets(subject) if target.url}
    for url, target in urls.items():
        before = dt.datetime.now(dt.UTC)
        try:
            answer = exchange("HEAD", url, timeout=subject.timeout, proxy=target.proxy)
        except NoAnswerError:
            continue  # that it is not reached, or not trusted with the machine's authorities, is no matter of clocks
        after = dt.datetime.now(dt.UTC)
        date = next((value for name, value in answer.headers if name.lower() == "date"), "")
        yield compared(url, date, before, after)
    if not urls and subject.worker is not None:
        yield note("clocks", "no server in these files tells its time, and Kafka's brokers do not.")


def compared(url: str, date: str, before: dt.datetime, after: dt.datetime) -> Finding:
    """The difference between this machine's clock and a server's.

    Args:
        date: the header of the response; empty where it had none.
        before, after: this machine's time when the request was sent, and when the response arrived.
    """
    try:
        theirs = parsedate_to_datetime(date).astimezone(dt.UTC)
    except ValueError:
        return note(url, "its answer has no time.")
    # What is between the two moments, or in the second that the header leaves out, is no difference.
    behind = (theirs - after).total_seconds()
    ahead = (before - theirs).total_seconds() - 1
    if max(behind, ahead) > MOST_S:
        way = f"{behind:.0f} s behind" if behind > ahead else f"{ahead:.0f} s ahead of"
        return warning(url, f"this machine's clock is {way} the server's.", "Have NTP set the clocks of both.")
    return ok(url, f"the clocks are within {MOST_S:.0f} s.")
