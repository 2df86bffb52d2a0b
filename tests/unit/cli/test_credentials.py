"""How commands say who asks, without a secret on the command line."""

import base64
import ssl

import pytest

from connect.cli import main


def basic(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.fixture
def sent(server):
    """The header that a command sends."""
    server.answers["GET /connectors"] = (200, {})

    def ask(*options, url=None):
        assert main(["list", "--url", url or server.url, *options]) == 0
        return server.asked[-1].headers.get("Authorization")

    return ask


@pytest.fixture
def said(capsys):
    return lambda: capsys.readouterr().err


def test_the_password_of_a_user_comes_from_a_file_or_the_environment(sent, tmp_path, monkeypatch):
    file = tmp_path / "password"
    file.write_text("pä ss\nsecond line\n")
    assert sent("--user", "me", "--password-file", str(file)) == basic("me:pä ss")
    monkeypatch.setenv("CONNECT_PASSWORD", "from-the-environment")
    assert sent("--user", "me") == basic("me:from-the-environment")
    assert sent("--user", "me", "--password-file", str(file)) == basic("me:pä ss")


def test_the_password_is_asked_for_at_a_terminal_and_only_there(sent, server, monkeypatch, said):
    monkeypatch.delenv("CONNECT_PASSWORD", raising=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda prompt: f"typed for {prompt}")
    assert sent("--user", "me") == basic("me:typed for Password of me: ")
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert main(["list", "--user", "me"]) == 2
    assert "CONNECT_PASSWORD" in said()
    assert len(server.asked) == 1


def test_a_password_on_the_command_line_is_refused_and_not_repeated(server, said):
    assert main(["list", "--user", "me:secret99"]) == 2
    err = said()
    assert "--user" in err
    assert "secret99" not in err
    assert server.asked == []


def test_the_command_line_counts_before_the_address_and_that_before_the_environment(
    sent, server, tmp_path, monkeypatch
):
    token = tmp_path / "token"
    token.write_text("connect_x\n")
    monkeypatch.setenv("CONNECT_TOKEN", "env")
    monkeypatch.setenv("CONNECT_PASSWORD", "pw")
    address = server.url.replace("://", "://you:url@")
    assert sent(url=address) == basic("you:url")
    assert sent("--user", "me", url=address) == basic("me:pw")
    assert sent("--token-file", str(token), url=address) == "Bearer connect_x"
    assert sent() == "Bearer env"


@pytest.mark.parametrize("option", ["--token-file", "--password-file"])
def test_a_file_that_cannot_be_read_or_is_empty_is_said(server, tmp_path, said, option):
    empty = tmp_path / "empty"
    empty.write_text("")
    for path in (empty, tmp_path / "none", tmp_path):
        assert main(["list", "--user", "me", option, str(path)]) == 2
        assert option in said()
    assert server.asked == []


def test_a_key_without_its_certificate_and_a_certificate_that_is_none_are_said(server, said):
    url = server.url.replace("http:", "https:")
    assert main(["list", "--url", url, "--key", __file__]) == 2
    assert "--cert" in said()
    assert main(["list", "--url", url, "--cert", __file__]) == 2
    assert "PEM" in said()
    assert main(["list", "--url", url, "--cert", "/no/such"]) == 2
    assert "no such file" in said()


def test_a_certificate_is_shown(serve, tmp_path, said, monkeypatch):
    import subprocess

    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)

    openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2", "-nodes"),
        *("-subj", "/CN=me", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"),
    )
    openssl("pkey", "-in", "key.pem", "-aes256", "-passout", "pass:key-pw", "-out", "locked.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    context.load_verify_locations(tmp_path / "cert.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    server = serve(context)
    server.answers["GET /connectors"] = (200, {})
    words = ["list", "--url", server.url, "--cacert", str(tmp_path / "cert.pem")]
    certificate = ["--cert", str(tmp_path / "cert.pem")]
    assert main([*words, *certificate, "--key", str(tmp_path / "key.pem")]) == 0
    monkeypatch.setenv("CONNECT_KEY_PASSWORD", "key-pw")
    assert main([*words, *certificate, "--key", str(tmp_path / "locked.pem")]) == 0
    assert main(words) == 3
    assert "--cert" in said()
