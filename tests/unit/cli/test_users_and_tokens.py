"""The files of users and tokens are written so that a worker takes them, and no secret is seen on the way."""

import io
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from connect.cli import main
from rest.security.tokens import parse_tokens
from rest.security.users import parse_users


@pytest.fixture
def type_in(monkeypatch):
    """Has somebody send these lines."""

    def send(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return send


@pytest.fixture
def file(tmp_path):
    return tmp_path / "users"


def said(capsys):
    shown = capsys.readouterr()
    return shown.out, shown.err


def users(file):
    return parse_users(file.read_text()).by_name


def test_a_user_is_made_changed_and_removed(file, type_in, capsys):
    type_in("pw-1\n")
    assert main(["users", "add", "alice", "--file", str(file)]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert users(file)["alice"].matches("pw-1")
    type_in("pw 2")
    assert main(["users", "passwd", "alice", "--file", str(file)]) == 0
    assert users(file)["alice"].matches("pw 2")
    assert main(["users", "list", "--file", str(file)]) == 0
    assert main(["users", "list", "--json", "--file", str(file)]) == 0
    assert main(["users", "remove", "alice", "--file", str(file)]) == 0
    assert users(file) == {}
    out, err = said(capsys)
    assert json.loads(re.search(r"\[\n.*?\n\]", out, re.DOTALL)[0]) == [{"name": "alice"}]
    assert "pw" not in out + err.replace("passwd", "")


def test_comments_and_others_stay_where_they_are(file, type_in):
    type_in("x\ny\n")
    main(["users", "add", "a", "--file", str(file)])
    main(["users", "add", "b", "--file", str(file)])
    file.write_text(f"# ours\n\n{file.read_text()}# end\n")
    file.chmod(0o640)
    before = file.read_text().splitlines()
    type_in("z\n")
    assert main(["users", "passwd", "a", "--file", str(file)]) == 0
    after = file.read_text().splitlines()
    assert [number for number in range(len(before)) if before[number] != after[number]] == [2]
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(file.parent.iterdir()) == [file]


def test_a_link_stays_one(file, tmp_path, type_in):
    link = tmp_path / "link"
    link.symlink_to(file)
    type_in("x\n")
    assert main(["users", "add", "a", "--file", str(link)]) == 0
    assert link.is_symlink()
    assert "a" in users(file)


@pytest.mark.parametrize(
    ("words", "typed", "code", "says"),
    [
        (["users", "add", "alice"], "x\n", 1, "There is a user"),
        (["users", "passwd", "bob"], "x\n", 1, "no user"),
        (["users", "remove", "alice", "bob"], "", 1, "no user"),
        (["users", "add", "bob"], "", 1, "no password"),
        (["users", "add", "b:ob"], "x\n", 2, "colon"),
        (["users", "add", "#bob"], "x\n", 2, "no"),
        (["tokens", "create", "ci", "--expires", "soon"], "", 2, "90d"),
        (["tokens", "create", "ci", "--expires", "2020-01-01"], "", 2, "over already"),
        (["tokens", "revoke", "ci"], "", 1, "no token"),
    ],
)
def test_what_cannot_be_done_changes_nothing(file, tmp_path, type_in, capsys, words, typed, code, says):
    type_in("pw\n")
    main(["users", "add", "alice", "--file", str(file)])
    before = file.read_bytes()
    type_in(typed)
    path = file if words[0] == "users" else tmp_path / "tokens"
    assert main([*words, "--file", str(path)]) == code
    assert says in said(capsys)[1]
    assert file.read_bytes() == before
    assert not (tmp_path / "tokens").exists()


def test_the_file_may_be_named_by_the_workers(file, tmp_path, type_in, capsys):
    worker = tmp_path / "worker.properties"
    worker.write_text(f"rest.security.users.file={file}\n")
    type_in("x\n")
    assert main(["users", "add", "a", "--worker", str(worker)]) == 0
    assert "a" in users(file)
    assert main(["tokens", "list", "--worker", str(worker)]) == 2
    assert "rest.security.tokens.file" in said(capsys)[1]


def test_a_file_with_an_error_is_not_written(file, type_in, capsys):
    file.write_text("a:plain\n")
    type_in("x\n")
    assert main(["users", "add", "b", "--file", str(file)]) == 2
    assert f"{file}:1" in said(capsys)[1]
    assert file.read_text() == "a:plain\n"


def test_the_users_of_kafka_connects_own_extension_are_taken_over(file, tmp_path, capsys):
    plain = tmp_path / "jaas.properties"
    plain.write_text("alice: pw-a\nbob=pw-b\n")
    assert main(["users", "import", str(plain), "--file", str(file)]) == 0
    assert users(file)["alice"].matches("pw-a")
    assert users(file)["bob"].matches("pw-b")
    assert "pw-a" not in file.read_text() + "".join(said(capsys))


def test_a_token_is_shown_once_and_counts_until_it_is_revoked(tmp_path, capsys):
    file = tmp_path / "tokens"
    assert main(["tokens", "create", "ci", "--expires", "2d", "--file", str(file)]) == 0
    out, err = said(capsys)
    secret = out.strip()
    assert re.fullmatch(r"connect_[\w-]{43}", secret)
    assert "shown once" in err
    assert secret not in file.read_text()
    assert parse_tokens(file.read_text()).find(secret).name == "ci"
    assert main(["tokens", "create", "ci", "--file", str(file)]) == 1
    main(["tokens", "create", "lasting", "--file", str(file)])
    file.write_text(file.read_text() + "old:sha256$" + 64 * "0" + ":2020-01-01\n")
    said(capsys)
    main(["tokens", "list", "--file", str(file)])
    rows = [line.split() for line in said(capsys)[0].splitlines()[1:]]
    assert [(row[0], row[-1]) for row in rows] == [("ci", "counts"), ("lasting", "counts"), ("old", "expired")]
    main(["tokens", "list", "--json", "--file", str(file)])
    assert [token["expired"] for token in json.loads(said(capsys)[0])] == [False, False, True]
    assert main(["tokens", "revoke", "ci", "old", "--file", str(file)]) == 0
    assert [token.name for token in parse_tokens(file.read_text()).by_digest.values()] == ["lasting"]


@pytest.mark.parametrize(("second", "code"), [(b"pw-tty\n", 0), (b"other\n", 1)])
def test_at_a_terminal_the_password_is_asked_for_twice_and_not_shown(file, second, code):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "connect.cli", "users", "add", "a", "--file", str(file)]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, close_fds=True
    ) as process:
        os.close(theirs)
        shown = b""
        for answer, asked in ((b"pw-tty\n", b"Password of a: "), (second, b"Once more: ")):
            while asked not in shown:
                shown += os.read(ours, 1000)
            os.write(ours, answer)
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            try:
                while more := terminal.read(1000):
                    shown += more
            except OSError:  # its other end is closed
                pass
    assert process.returncode == code
    assert b"pw-tty" not in shown
    assert file.exists() == (code == 0)
