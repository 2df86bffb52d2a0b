"""Ids of posts are snowflakes: their upper bits are the millisecond of the post.

So an id is also a time, and a time an id. The API refuses `since_id` and `until_id` beside `start_time` and `end_time`:
where only a time is known, its id is used.
"""

from __future__ import annotations

from typing import Final

#: When the counting of milliseconds began: 2010-11-04T01:42:54.657Z.
_EPOCH_MS: Final = 1_288_834_974_657
_LOWER_BITS: Final = 22

#: No id is greater.
MOST: Final = (1 << 63) - 1


def made_at(post: int) -> int:
    """The time of a post, in milliseconds since 1970. Ids from before snowflakes give that of their introduction."""
    return (post >> _LOWER_BITS) + _EPOCH_MS


def first_at(milliseconds: int) -> int:
    """The least id that a post of this millisecond may have; 1 for what was before."""
    return min(MOST, max(1, (milliseconds - _EPOCH_MS) << _LOWER_BITS))
