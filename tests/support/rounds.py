"""How often tests kill what they test."""

from __future__ import annotations

import os


def rounds(usual: int) -> int:
    """So often, or as often as CHAOS_ROUNDS says: `make kills CHAOS_ROUNDS=500` goes on through the night."""
    return int(os.environ.get("CHAOS_ROUNDS", usual))
