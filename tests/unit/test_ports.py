"""Ports for servers that are about to start."""

import socket
from pathlib import Path

import pytest

from connect import ports
from connect.ports import free_port, is_free


def test_a_port_is_none_that_an_outgoing_connection_gets():
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found = {free_port() for _ in range(200)}
    assert all(10_000 <= port < first for port in found)
    assert len(found) > 150  # two that ask at the same time get two


def test_where_outgoing_connections_may_have_all_ports_it_is_one_that_the_kernel_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    known = tmp_path / "ip_local_port_range"
    known.write_text("1024\t60999\n")
    monkeypatch.setattr(ports, "_OUTGOING", known)
    port = free_port()
    assert is_free(port)
    assert port >= 1024


def test_a_system_that_does_not_tell_its_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ports, "_OUTGOING", tmp_path / "none")
    assert 10_000 <= free_port() < 49_152


def test_a_port_is_taken_while_somebody_listens_and_free_after():
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as server:
        assert not is_free(port)
        with socket.create_connection(("127.0.0.1", port)) as client:
            server.accept()[0].close()  # this end of the connection lingers
            assert client.recv(1) == b""
    assert is_free(port)
