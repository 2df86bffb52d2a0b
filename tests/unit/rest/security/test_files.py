"""The files that say who may do what: their forms, what is wrong with them, and that a change counts at once."""

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connect.errors import ConfigError
from rest.security.certificates import CertificateNames, parse_rules, subject
from rest.security.files import LineError, WatchedFile
from rest.security.passwords import PasswordHash
from rest.security.roles import Identity, Role, parse_roles
from rest.security.tokens import Token, new_token, parse_tokens
from rest.security.users import parse_users

from .conftest import quick

GOOD = f"alice:{quick('pw')}"
SHA = "sha256$" + 64 * "0"
VECTOR = (
    "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
    "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
)


def test_a_password_is_recognised_by_its_hash_and_no_other_is() -> None:
    made = PasswordHash.make("pä ss:word")
    assert str(made).startswith("$scrypt$ln=15,r=8,p=3$")
    again = PasswordHash.parse(str(made))
    assert again.matches("pä ss:word")
    assert not again.matches("pa ss:word")
    assert PasswordHash.make("x").salt != PasswordHash.make("x").salt
    assert "scrypt" not in repr(made)


def test_hashes_are_those_of_scrypt() -> None:
    """A vector of RFC 7914: N=1024, r=8, p=16."""
    made = PasswordHash(10, 8, 16, b"NaCl", bytes.fromhex(VECTOR))
    assert made.matches("password")
    assert not made.matches("passwort")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("\n# fine\nalice", 3, "name:hash"),
        (":x", 1, "no name"),
        (f"{GOOD}\n{GOOD}", 2, "twice"),
        ("alice:secret99", 1, "not the hash of a password"),
        ("alice:$2y$05$abcdefgh", 1, "bcrypt"),
        ("alice:$apr1$abcdefgh", 1, "Apache's MD5"),
        ("alice:{SHA}abcdefgh", 1, "SHA-1"),
        ("alice:$scrypt$ln=40,r=8,p=1$AAAAAAAAAAA$" + 43 * "A", 1, "costs"),
        ("alice:$scrypt$ln=0,r=8,p=1$AAAAAAAAAAA$" + 43 * "A", 1, "costs"),
        ("al ice\x07:" + str(quick("x")), 1, "characters"),
    ],
    ids=itertools.count(),  # a hash has another salt each time
)
def test_a_wrong_user_is_said_with_its_line_and_without_secrets(text: str, line: int, says: str) -> None:
    with pytest.raises(LineError, match=says) as found:
        parse_users(text)
    assert found.value.line == line
    assert "secret99" not in str(found.value)
    assert "abcdefgh" not in str(found.value)


def test_an_unknown_user_costs_what_the_slowest_known_one_costs() -> None:
    slow = PasswordHash.make("x", ln=5, r=2, p=3)
    users = parse_users(f"a:{quick('x')}\nb:{slow}\n")
    decoy = users.find("nobody")
    assert (decoy.ln, decoy.r, decoy.p) == (5, 2, 3)
    assert not decoy.matches("x")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ci", "sha256"),
        (f"ci:{SHA}\nci:{SHA[:-1]}1", "twice"),
        (f"ci:{SHA}\ntf:{SHA}", "twice"),
        (f"ci:{SHA}:tomorrow", "not an expiry"),
        (f"ci:{SHA}:2027-01-31T12:00:00", "not an expiry"),
        ("ci:connect_plain", "sha256"),
    ],
)
def test_a_wrong_token_is_said_with_its_line(text: str, says: str) -> None:
    with pytest.raises(LineError, match=says) as found:
        parse_tokens(text)
    assert found.value.line == len(text.split("\n"))
    assert "connect_plain" not in str(found.value)


def test_a_token_counts_to_the_end_of_its_day() -> None:
    (token,) = parse_tokens(f"ci:{SHA}:2027-01-31").by_digest.values()
    assert not token.expired(datetime(2027, 1, 31, 23, 59, 59, tzinfo=UTC))
    assert token.expired(datetime(2027, 2, 1, tzinfo=UTC))


def test_a_token_is_found_by_its_secret_alone() -> None:
    token, secret = new_token("ci", datetime(2027, 1, 31, 12, tzinfo=UTC))
    other, _ = new_token("other")
    assert secret not in str(token)
    tokens = parse_tokens(f"{token}\n{other}\n")
    assert tokens.find(secret) == Token("ci", token.digest, datetime(2027, 1, 31, 12, tzinfo=UTC))
    assert tokens.find(secret[:-1]) is None
    assert tokens.find(token.digest.hex()) is None


def test_roles_are_the_highest_that_fits_the_name() -> None:
    roles = parse_roles("""
        [groups]
        team = ["user:a", "token:t"]
        [[grant]]
        role = "viewer"
        to = ["*"]
        [[grant]]
        role = "operator"
        to = ["group:team"]
        connectors = ["orders-*", "x?"]
        [[grant]]
        role = "Editor"
        to = ["user:a"]
        connectors = ["orders-1"]
    """)
    a = roles.of(Identity("user", "a"))
    assert [a.may(role, "orders-1") for role in Role] == [True, True, True, False]
    assert [a.may(role, "orders-2") for role in Role] == [True, True, False, False]
    assert [a.may(role, "Orders-2") for role in Role] == [True, False, False, False]
    assert a.may(Role.OPERATOR, "x1")
    assert not a.may(Role.OPERATOR, "x12")
    token = roles.of(Identity("token", "t"))
    assert token.may(Role.OPERATOR, "x1")
    assert not token.may(Role.EDITOR, "orders-1")
    # A token or a certificate of a user's name is not the user.
    assert not roles.of(Identity("token", "a")).may(Role.OPERATOR, "x1")
    assert not roles.of(Identity("certificate", "a")).may(Role.OPERATOR, "x1")
    assert not roles.of(Identity("user", "group:team")).may(Role.OPERATOR, "x1")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[grant]\n", "not TOML"),
        ("grants = 1", 'unknown key "grants"'),
        ("grant = 1", r"\[\[grant\]\]"),
        ('[[grant]]\nrole="owner"\nto=["user:a"]', '"owner" is not a role'),
        ('[[grant]]\nrole="viewer"\nto=["a"]', '"a" is not a subject'),
        ('[[grant]]\nrole="viewer"\nto=["person:a"]', '"person:a" is not a subject'),
        ('[[grant]]\nrole="viewer"\nto=["group:x"]', 'no group "x"'),
        ('[[grant]]\nrole="viewer"\nto=[]', "at least one"),
        ('[[grant]]\nrole="viewer"\nto=["user:a"]\nconnectors="a*"', "list of texts"),
        ('[[grant]]\nrole="viewer"\nto=["user:a"]\nconnector=["a"]', 'unknown key "connector"'),
        ('[[grant]]\nrole="admin"\nto=["user:a"]\nconnectors=["a"]', "whole worker"),
        ('[groups]\ng=["group:h"]', "Name users"),
        ('[[grant]]\nrole="editor"\nto=["user:a"]\nsecrets="yes"', "true or false"),
        ('[[grant]]\nrole="operator"\nto=["user:a"]\nsecrets=true', "Grant editor"),
    ],
)
def test_wrong_roles_are_refused(text: str, says: str) -> None:
    with pytest.raises(LineError, match=says):
        parse_roles(text)


CERTIFICATE = {
    "subject": (
        (("countryName", "DE"),),
        (("organizationName", "Ex, ample"),),
        (("organizationalUnitName", "Data"), ("userId", "7")),
        (("commonName", "Ops"),),
    ),
    "subjectAltName": (
        ("DNS", "ops.example"),
        ("DNS", "second"),
        ("email", "ops@example.org"),
        ("URI", "spiffe://x/ops"),
    ),
}


@pytest.mark.parametrize(
    ("source", "rules", "name"),
    [
        ("subject", "DEFAULT", r"CN=Ops,OU=Data+UID=7,O=Ex\, ample,C=DE"),
        ("subject", "RULE:^CN=([^,]+),.*$/$1/L,DEFAULT", "ops"),
        ("subject", r"RULE:^CN=([^,]+),OU=([^,+]+).*,C=DE$/$2\/$1/U", "DATA/OPS"),
        ("subject", "RULE:^CN=x$/y/, RULE:^CN=Ops$/z/ , DEFAULT", r"CN=Ops,OU=Data+UID=7,O=Ex\, ample,C=DE"),
        ("subject", "RULE:^CN=Ops/z/", None),  # the whole subject has to fit
        ("dns", "DEFAULT", "ops.example"),
        ("email", "DEFAULT", "ops@example.org"),
        ("uri", "DEFAULT", "spiffe://x/ops"),
    ],
)
def test_a_certificate_has_one_name(source: str, rules: str, name: str | None) -> None:
    assert CertificateNames(source, parse_rules(rules)).name(CERTIFICATE) == name


def test_a_certificate_that_does_not_say_names_nobody() -> None:
    assert CertificateNames("email", parse_rules("DEFAULT")).name({"subject": CERTIFICATE["subject"]}) is None
    assert CertificateNames("subject", parse_rules("DEFAULT")).name({"subject": ()}) is None


def test_a_part_of_a_subject_cannot_pass_for_another_part() -> None:
    assert subject({"subject": ((("commonName", "x,O=Example"),),)}) == r"CN=x\,O=Example"
    assert subject({"subject": ((("commonName", "#x "),),)}) == r"CN=\#x\ "


@pytest.mark.parametrize("rules", ["", "RULE:x", "RULE:(/x/", "RULE:^x$/$1/", "RULE:x/y/Z", "DEFAULT DEFAULT"])
def test_wrong_rules_are_refused(rules: str) -> None:
    with pytest.raises(ValueError, match="."):
        parse_rules(rules)


class Watched:
    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> WatchedFile[list[str]]:
        def parse(text: str) -> list[str]:
            if "wrong" in text:
                raise LineError(1, "it is wrong.")
            return text.split()

        return WatchedFile("the.key", str(self.path), parse, [], private=True)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    path = tmp_path / "file"
    path.write_text("a b")
    path.chmod(0o640)
    return Watched(path)


def test_a_change_counts_at_once_and_nothing_else_does(watched: Watched) -> None:
    file = watched.open()
    first = file.current()
    assert file.current() is first
    watched.path.touch()
    assert file.current() is first
    for number in range(20):  # of one length, faster than a file system's clock
        watched.path.write_text(f"a {number:02}")
        assert file.current() == ["a", f"{number:02}"]


def test_two_changes_within_one_step_of_a_coarse_clock_are_both_seen(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rest.security.files._stamp", lambda found: (found.st_size,))
    file = watched.open()
    watched.path.write_text("c d")
    assert file.current() == ["c", "d"]


def test_what_became_wrong_stays_what_it_was_and_what_is_gone_is_nothing(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    file = watched.open()
    watched.path.write_text("wrong")
    assert [file.current() for _ in range(3)] == [["a", "b"]] * 3
    assert len(caplog.records) == 1
    assert f"{watched.path}:1: it is wrong." in caplog.text
    watched.path.write_text("c")
    assert file.current() == ["c"]
    watched.path.unlink()
    assert [file.current() for _ in range(3)] == [[]] * 3
    assert "no such file" in caplog.text
    watched.path.write_text("d")
    watched.path.chmod(0o600)
    assert file.current() == ["d"]


@pytest.mark.parametrize(("mode", "says"), [(0o644, "read"), (0o642, "write"), (0o602, "write")])
def test_a_file_that_everybody_may_read_or_write_is_refused(watched: Watched, mode: int, says: str) -> None:
    watched.path.chmod(mode)
    with pytest.raises(ConfigError, match=f"may {says}"):
        watched.open()


def test_who_has_no_file_of_tokens_yet_is_told_how_to_make_one(tmp_path: Path) -> None:
    said = r"no such file. `connect tokens create TOKEN --file .*tokens` makes it.$"
    with pytest.raises(ConfigError, match=said):
        WatchedFile("rest.security.tokens.file", str(tmp_path / "tokens"), str.split, [], private=True)


def test_a_file_that_is_none_is_refused(watched: Watched, tmp_path: Path) -> None:
    for path, says in ((tmp_path / "none", "no such file"), (tmp_path, "directory")):
        watched.path = path
        with pytest.raises(ConfigError, match=says):
            watched.open()
