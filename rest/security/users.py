"""The file of rest.security.users.file: a line for each user, as in Apache's htpasswd.

    # name:hash
    alice:$scrypt$ln=15,r=8,p=3$8dT0...$0pMA...

`connect users add alice` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rest.security.files import LineError, entries, name_error
from rest.security.passwords import PasswordHash


@dataclass(frozen=True, eq=False)
class Users:
    """Users with the hashes of their passwords.

    Attributes:
        by_name: all of them.
        decoy: the hash for the password of an unknown user: checking it takes as long as the slowest of theirs.
    """

    by_name: Mapping[str, PasswordHash]
    decoy: PasswordHash

    @classmethod
    def of(cls, by_name: Mapping[str, PasswordHash]) -> Users:
        """These users."""
        slowest = max(by_name.values(), key=lambda one: one.r * one.p * 2**one.ln, default=None)
        decoy = PasswordHash.of_nobody(slowest.ln, slowest.r, slowest.p) if slowest else PasswordHash.of_nobody()
        return cls(by_name, decoy)

    def find(self, name: str) -> PasswordHash:
        """The hash of a user; for an unknown one, a hash that nothing matches."""
        return self.by_name.get(name, self.decoy)


def parse_users(text: str) -> Users:
    """What the file holds. Raises LineError."""
    found: dict[str, PasswordHash] = {}
    for number, line in entries(text):
        name, colon, written = line.partition(":")
        if not colon:
            raise LineError(number, "this is not a user. Write name:hash, or let `connect users add` write it.")
        if wrong := name_error(name):
            raise LineError(number, wrong)
        if name in found:
            raise LineError(number, f'user "{name}" stands here twice. Remove one of the lines.')
        try:
            found[name] = PasswordHash.parse(written)
        except ValueError as error:
            raise LineError(number, f'user "{name}": {error}') from error
    return Users.of(found)
