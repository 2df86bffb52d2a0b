"""Starts stores of objects that are not S3: Azurite, Microsoft's own server of blobs, and fake-gcs-server.

Azurite checks signatures, conditions and lists of blocks as Azure does. fake-gcs-server looks at no credentials;
uploads in one request and in chunks, their conditions and metadata are as Google's JSON API has them.
"""

import base64
import os
import uuid
from abc import abstractmethod
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import requests
from azure.core.exceptions import AzureError
from azure.storage.blob import BlobServiceClient

from tests.servers.programs import go_program, node, npm_package
from tests.servers.server_process import ServerProcess

HOST: Final = "127.0.0.1"
ACCOUNT: Final = "tester"
ACCOUNT_KEY: Final = base64.b64encode(b"secret-of-tester").decode()
AZURITE: Final = "3.35.0"
FAKE_GCS: Final = "v1.56.1"


class ObjectStore(ServerProcess):
    """A server with its data in a folder of its own, ready when it is made."""

    def __init__(self) -> None:
        self.bring_up({})

    @abstractmethod
    def bucket(self) -> "Objects":
        """A new, empty bucket, or what the store calls so."""

    def _initialise(self) -> None:
        self.data.mkdir()


class Objects:
    """One bucket: what a test looks at and puts there, without any code of ours.

    Attributes:
        connector: the name of the sink that writes here.
        config: the keys by which it reaches the bucket.
        at: the same, over another port in place of the server's.
        part_size, retries: the names of two more keys.
        server: whose it is.
    """

    connector: str
    config: dict[str, str]
    part_size: str
    retries: dict[str, str]
    server: ObjectStore

    @abstractmethod
    def at(self, port: int) -> dict[str, str]: ...

    @abstractmethod
    def keys(self) -> list[str]:
        """The keys of all objects, sorted."""

    @abstractmethod
    def get(self, key: str) -> bytes:
        """The content of an object."""

    @abstractmethod
    def put(self, key: str, content: bytes) -> None:
        """Make an object."""

    @abstractmethod
    def described(self, key: str) -> tuple[str, dict[str, str]]:
        """The content type and the metadata of an object."""


class Azurite(ObjectStore):
    """Azurite with an account of its own, from npm's registry.

    Raises:
        ProgramUnavailable: there is no node or npm, or it cannot be fetched.
    """

    product = "Azurite"

    def __init__(self) -> None:
        self._program = [node(), npm_package("azurite", AZURITE) / "dist" / "src" / "blob" / "main.js"]
        super().__init__()

    def address(self, port: int | None = None) -> str:
        return f"http://{HOST}:{port or self.port}/{ACCOUNT}"

    @property
    def client(self) -> BlobServiceClient:
        return BlobServiceClient(self.address(), credential={"account_name": ACCOUNT, "account_key": ACCOUNT_KEY})

    def bucket(self) -> "AzureContainer":
        name = f"test-{uuid.uuid4().hex[:12]}"
        self.client.create_container(name)
        return AzureContainer(self, name)

    def _command(self) -> list[str | Path]:
        where = ["--blobHost", HOST, "--blobPort", str(self.port), "--location", self.data]
        return [*self._program, *where, "--silent", "--disableTelemetry", "--skipApiVersionCheck"]

    def _options(self) -> dict[str, Any]:
        return {"env": {**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{ACCOUNT_KEY}"}}

    def _answers(self) -> bool:
        try:
            list(self.client.list_containers(retry_total=0))
        except AzureError:
            return False
        return True


class AzureContainer(Objects):
    connector = "io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector"
    part_size = "azblob.block.size"
    retries = {"azblob.retry.retries": "0"}  # noqa: RUF012

    def __init__(self, server: Azurite, name: str) -> None:
        self.server: Azurite = server
        self._client = server.client.get_container_client(name)
        self.config = {
            "azblob.container.name": name,
            "azblob.account.name": ACCOUNT,
            "azblob.account.key": ACCOUNT_KEY,
            **self.at(server.port),
        }

    def at(self, port: int) -> dict[str, str]:
        return {"azblob.endpoint": self.server.address(port)}

    def keys(self) -> list[str]:
        return sorted(each.name for each in self._client.list_blobs())

    def get(self, key: str) -> bytes:
        content: bytes = self._client.download_blob(key).readall()
        return content

    def put(self, key: str, content: bytes) -> None:
        self._client.upload_blob(key, content)

    def described(self, key: str) -> tuple[str, dict[str, str]]:
        found = self._client.get_blob_client(key).get_blob_properties()
        return found.content_settings.content_type, dict(found.metadata)


class FakeGcs(ObjectStore):
    """fake-gcs-server over a folder; Go builds it once.

    Raises:
        ProgramUnavailable: there is no Go to build it with, or the build failed.
    """

    product = "fake-gcs-server"

    def __init__(self) -> None:
        self._program = go_program("github.com/fsouza/fake-gcs-server", FAKE_GCS)
        super().__init__()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def bucket(self) -> "GcsBucket":
        name = f"test-{uuid.uuid4().hex[:12]}"
        requests.post(f"{self.url}/storage/v1/b", json={"name": name}, timeout=30).raise_for_status()
        return GcsBucket(self, name)

    def _command(self) -> list[str | Path]:
        where = ["-scheme", "http", "-host", HOST, "-port", str(self.port)]
        return [self._program, *where, "-backend", "filesystem", "-filesystem-root", self.data, "-log-level", "warn"]

    def _options(self) -> dict[str, Any]:
        return {}

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.url}/storage/v1/b", timeout=5).ok
        except requests.RequestException:
            return False


class GcsBucket(Objects):
    connector = "io.confluent.connect.gcs.GcsSinkConnector"
    part_size = "gcs.part.size"
    retries = {"gcs.part.retries": "0"}  # noqa: RUF012

    def __init__(self, server: FakeGcs, name: str) -> None:
        self.server: FakeGcs = server
        self._name = name
        self.config = {"gcs.bucket.name": name, "gcs.credentials.default": "false", **self.at(server.port)}

    def at(self, port: int) -> dict[str, str]:
        return {"gcs.endpoint": f"http://{HOST}:{port}"}

    def keys(self) -> list[str]:
        return sorted(each["name"] for each in self._ask("").json().get("items", []))

    def get(self, key: str) -> bytes:
        return self._ask(f"/{quote(key, safe='')}?alt=media").content

    def put(self, key: str, content: bytes) -> None:
        url = f"{self.server.url}/upload/storage/v1/b/{self._name}/o"
        params = {"uploadType": "media", "name": key}
        requests.post(url, params=params, data=content, timeout=30).raise_for_status()

    def described(self, key: str) -> tuple[str, dict[str, str]]:
        found = self._ask(f"/{quote(key, safe='')}").json()
        return found["contentType"], found.get("metadata", {})

    def _ask(self, path: str) -> requests.Response:
        answer = requests.get(f"{self.server.url}/storage/v1/b/{self._name}/o{path}", timeout=30)
        answer.raise_for_status()
        return answer
