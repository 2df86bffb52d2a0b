"""Starts S3 servers on this machine: S3Proxy for every day, Versity's gateway for what S3Proxy cannot do.

S3Proxy is jars, so it is there wherever the broker is: signatures, conditional writes, multipart uploads (parts of less
than 5 MiB are refused) and listing are as they should be. It refuses tags, access control lists, encryption and
versions (501, `NotImplemented`), takes a storage class without keeping it, and lists an object a moment before it has
it. The gateway does all of that but encryption; Go builds it once, in three minutes, and the user's cache keeps the
binary. Moto is an emulator: it looks at no signature, but keeps how an object was to be encrypted, and tells it.
"""

import os
import signal
import sys
import uuid
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from connect.jvm.jars import classpath
from connect.jvm.java import find_java
from tests.servers.programs import go_program
from tests.servers.server_process import ServerProcess

HOST: Final = "127.0.0.1"
ACCESS_KEY: Final = "tester"
SECRET_KEY: Final = "secret-of-tester"
REGION: Final = "us-east-1"
VERSITYGW: Final = "v1.8.0"


class S3Bucket:
    """One bucket of a server: what a test looks at and puts there, with boto3 and nothing of ours."""

    def __init__(self, server: "S3Server", name: str) -> None:
        self.server = server
        self.name = name

    @property
    def client(self) -> Any:
        """boto3's client of the server."""
        return self.server.client

    @property
    def config(self) -> dict[str, str]:
        """The keys by which our connectors reach this bucket."""
        return {"s3.bucket.name": self.name, **self.server.config}

    def keys(self, prefix: str = "") -> list[str]:
        """The keys of all objects, in S3's order."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return [each["Key"] for page in pages for each in page.get("Contents", [])]

    def get(self, key: str) -> bytes:
        """The content of an object."""
        content: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return content

    def put(self, key: str, content: bytes, **more: Any) -> str:
        """Make an object; its entity tag."""
        tag: str = self.client.put_object(Bucket=self.name, Key=key, Body=content, **more)["ETag"]
        return tag

    def delete(self, key: str) -> None:
        """Remove an object."""
        self.client.delete_object(Bucket=self.name, Key=key)

    def uploads(self) -> list[str]:
        """The keys of multipart uploads that nobody has completed or aborted."""
        found = self.client.list_multipart_uploads(Bucket=self.name).get("Uploads") or []
        return [each["Key"] for each in found]

    def abort_uploads(self) -> None:
        """Abort them."""
        for each in self.client.list_multipart_uploads(Bucket=self.name).get("Uploads") or []:
            self.client.abort_multipart_upload(Bucket=self.name, Key=each["Key"], UploadId=each["UploadId"])


class S3Server(ServerProcess):
    """A server with its data in a folder of its own, ready when it is made. See the two classes below."""

    def __init__(self) -> None:
        self.bring_up({})

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def config(self) -> dict[str, str]:
        """The keys by which our connectors reach this server."""
        return {
            "s3.region": REGION,
            "store.url": self.endpoint,
            "aws.access.key.id": ACCESS_KEY,
            "aws.secret.access.key": SECRET_KEY,
        }

    def client_of(self, access_key: str, secret_key: str) -> Any:
        """boto3's client with these credentials."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            region_name=REGION,
            config=Config(s3={"addressing_style": "path"}, retries={"mode": "standard", "max_attempts": 1}),
        )

    def bucket(self, name: str | None = None) -> S3Bucket:
        """A new, empty bucket."""
        name = name or f"test-{uuid.uuid4().hex[:12]}"
        self.client.create_bucket(Bucket=name)
        return S3Bucket(self, name)

    def start(self, *, read_only: bool = False) -> None:  # type: ignore[override]
        """Start it, after `kill` on the port that it had and with its data; with `read_only` it takes no write."""
        super().start(read_only="true" if read_only else "false")

    def suspend(self) -> None:
        """Let it hang: it takes connections and answers nothing, until `resume`."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after `suspend`."""
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it for good and remove its data."""
        if hasattr(self, "client"):
            self.client.close()
        super().close()

    def _initialise(self) -> None:
        self.data.mkdir()
        self.client = self.client_of(ACCESS_KEY, SECRET_KEY)

    def _answers(self) -> bool:
        try:
            self.client.list_buckets()
        except (BotoCoreError, ClientError):
            return False
        return True

    def _options(self) -> dict[str, Any]:
        return {"env": {**os.environ, "ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}}


class S3Proxy(S3Server):
    """S3Proxy over a folder, from the jar set `s3proxy`.

    Raises:
        JarsUnavailable: its jars cannot be fetched.
        JavaNotFound: there is no Java 17.
    """

    product = "S3Proxy"

    def __init__(self) -> None:
        self._java = [str(find_java(17).path), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        self._jars = classpath("s3proxy")
        super().__init__()

    def _command(self) -> list[str | Path]:
        options = {
            "s3proxy.endpoint": self.endpoint,
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": ACCESS_KEY,
            "s3proxy.credential": SECRET_KEY,
            "s3proxy.read-only-blobstore": self._settings["read_only"],
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self.data),
        }
        properties, logging = self.folder / "s3proxy.properties", self.folder / "logback.xml"
        properties.write_text("".join(f"{key}={value}\n" for key, value in options.items()), encoding="ascii")
        logging.write_text(
            '<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder>'
            "<pattern>%level %logger %msg%n</pattern></encoder></appender>"
            '<root level="WARN"><appender-ref ref="out"/></root></configuration>',
            encoding="ascii",
        )
        program = ["-cp", self._jars, "org.gaul.s3proxy.Main", "--properties", str(properties)]
        return [*self._java, f"-Dlogback.configurationFile={logging}", *program]


class VersityGateway(S3Server):
    """Versity's S3 gateway over a folder, with versions where a bucket asks for them.

    Raises:
        ProgramUnavailable: there is no Go to build it with, or the build failed.
    """

    product = "versitygw"

    def __init__(self) -> None:
        self._program = versitygw()
        super().__init__()

    def _command(self) -> list[str | Path]:
        versions = self.folder / "versions"
        versions.mkdir(exist_ok=True)
        options = [
            "--port",
            f"{HOST}:{self.port}",
            "--region",
            REGION,
            *(["--readonly"] if self._settings["read_only"] == "true" else []),
        ]
        return [self._program, *options, "posix", "--versioning-dir", versions, self.data]


class Moto(S3Server):
    """Moto's emulator, with objects in memory."""

    product = "moto"

    def _command(self) -> list[str | Path]:
        return [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(self.port)]


def versitygw() -> Path:
    """The gateway's binary, built once and kept in the user's cache.

    Raises:
        ProgramUnavailable: there is no Go to build it with, or the build failed.
    """
    return go_program("github.com/versity/versitygw/cmd/versitygw", VERSITYGW)
